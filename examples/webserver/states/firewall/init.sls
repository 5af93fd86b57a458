include:
  - repository

nftables:
  pkg.installed:
    - require:
      - pkgrepo: repository
  file.managed:
    - name: /etc/nftables.conf
    - source: salt://firewall/nftables.conf
    - template: jinja
    - mode: '0755'
    - require:
      - pkg: nftables
  service.running:
    - enable: True
    - reload: True
    - watch:
      - file: nftables
