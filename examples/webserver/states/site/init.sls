{% set site = pillar['site'] %}
include:
  - base.packages
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
    - watch_in:
      - service: web server

/etc/nginx/sites-enabled/{{ site['name'] }}:
  file.symlink:
    - target: ../sites-available/{{ site['name'] }}
    - require:
      - file: /etc/nginx/sites-available/{{ site['name'] }}
    - watch_in:
      - service: web server

/etc/logrotate.d/{{ site['name'] }}:
  file.managed:
    - source: salt://site/logrotate.conf
    - template: jinja
    - require:
      - pkg: tools
