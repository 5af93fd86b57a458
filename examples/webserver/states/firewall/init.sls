include:
  - firewall.packages

/etc/nftables.conf:
  file.managed:
    - source: salt://firewall/nftables.conf
    - template: jinja
    - mode: '0755'
    - require:
      - pkg: nftables

firewall:
  service.running:
    - name: nftables
    - enable: True
    - reload: True
    - order: last
    - watch:
      - file: /etc/nftables.conf
