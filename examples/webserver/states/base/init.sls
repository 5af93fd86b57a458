{# What every machine has, whatever it is for. #}
include:
  - base.packages

timezone:
  timezone.system:
    - name: {{ pillar['timezone'] }}
    - utc: True

{% for name, value in pillar['sysctl'].items() %}
{{ name }}:
  sysctl.present:
    - value: {{ value }}
    - config: /etc/sysctl.d/60-webserver.conf
    - require:
      - pkg: tools
{% endfor %}

/etc/motd:
  file.managed:
    - contents: |
        {{ grains['id'] }}: a web server for {{ pillar['site']['name'] }}.
        What you change here by hand, the next run puts back.

cron:
  service.running:
    - enable: True
    - order: last
    - require:
      - pkg: tools
