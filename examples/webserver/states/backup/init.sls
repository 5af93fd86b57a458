include:
  - base.packages
  - site

/var/backups/site:
  file.directory:
    - mode: '0700'

/usr/local/sbin/backup-site:
  file.managed:
    - mode: '0755'
    - contents: |
        #!/bin/sh
        # Keeps the site of each weekday.
        exec tar --create --gzip --file "/var/backups/site/$(date +%a).tar.gz" --directory {{ pillar['site']['root'] }} .

backup of the site:
  cron.present:
    - name: /usr/local/sbin/backup-site
    - identifier: backup-site
    - user: root
    - minute: 17
    - hour: 3
    - require:
      - pkg: tools
      - file: /usr/local/sbin/backup-site
      - file: /var/backups/site
      - file: {{ pillar['site']['root'] }}

MAILTO:
  cron.env_present:
    - value: root@{{ pillar['site']['name'] }}
    - user: root
    - require:
      - pkg: tools
