{% set site = pillar['site'] %}
include:
  - nginx
  - users

{{ site['root'] }}:
  file.directory:
    - makedirs: True
    - group: publishers
    - mode: '2775'
    - require:
      - group: publishers
      - pkg: nginx

{% for page, title in site['pages'].items() %}
{{ site['root'] }}/{{ page }}.html:
  file.managed:
    - source: salt://site/page.html
    - template: jinja
    - group: publishers
    - mode: '0664'
    - context:
        title: {{ title }}
    - require:
      - file: {{ site['root'] }}
{% endfor %}

/etc/nginx/sites-available/{{ site['name'] }}:
  file.managed:
    - source: salt://site/site.conf
    - template: jinja
    - require:
      - pkg: nginx
      - file: {{ site['root'] }}

/etc/nginx/sites-enabled/{{ site['name'] }}:
  file.symlink:
    - target: ../sites-available/{{ site['name'] }}
    - require:
      - file: /etc/nginx/sites-available/{{ site['name'] }}

{# Only what nginx itself finds right is put to work. #}
nginx -t -q:
  cmd.run:
    - onchanges:
      - file: /etc/nginx/sites-available/{{ site['name'] }}
      - file: /etc/nginx/sites-enabled/{{ site['name'] }}
      - file: /etc/nginx/conf.d/limits.conf
    - require:
      - pkg: nginx

extend:
  nginx:
    service:
      - require:
        - cmd: nginx -t -q
      - watch:
        - file: /etc/nginx/sites-available/{{ site['name'] }}
        - file: /etc/nginx/sites-enabled/{{ site['name'] }}

/etc/logrotate.d/{{ site['name'] }}:
  file.managed:
    - source: salt://site/logrotate.conf
    - template: jinja
    - require:
      - pkg: tools
