{% set repository = pillar['repository'] %}
{% if repository['key'] is defined %}
repository key:
  file.managed:
    - name: {{ repository['keyring'] }}
    - contents_pillar: repository:key
    - mode: '0644'
    - require_in:
      - pkgrepo: repository
{% endif %}

repository:
  pkgrepo.managed:
    - name: deb [signed-by={{ repository['keyring'] }}] {{ repository['url'] }} {{ repository['suite'] }} {{ repository['components'] }}
    - file: /etc/apt/sources.list.d/webserver.list
