{# A service of our own: every few seconds it writes how the machine does, for nginx to show. #}
status:
  user.present:
    - system: True
    - home: /nonexistent
    - createhome: False
    - shell: /usr/sbin/nologin
  service.running:
    - enable: True
    - order: last
    - require:
      - user: status
    - watch:
      - file: /usr/local/bin/status
      - file: /etc/status.conf
      - file: /etc/systemd/system/status.service

/usr/local/bin/status:
  file.managed:
    - source: salt://status/status.sh
    - mode: '0755'

/etc/status.conf:
  file.managed:
    - contents: |
        EVERY={{ pillar['status']['every'] }}
        NAME={{ grains['id'] }}

/etc/systemd/system/status.service:
  file.managed:
    - source: salt://status/status.service
