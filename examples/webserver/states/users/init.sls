{% for name, group in pillar['groups'].items() %}
{{ name }}:
  group.present:
    - gid: {{ group['gid'] }}
{% endfor %}

{% for name, person in pillar['people'].items() %}
{{ name }}:
  user.present:
    - uid: {{ person['uid'] }}
    - fullname: {{ person['fullname'] }}
    - shell: /bin/bash
    - home: /home/{{ name }}
    - groups: {{ person['groups'] | json }}
    - require:
      {% for group in person['groups'] %}
      - group: {{ group }}
      {% endfor %}

{{ name }}'s keys:
  ssh_auth.present:
    - user: {{ name }}
    - names: {{ person['keys'] | json }}
    - require:
      - user: {{ name }}
{% endfor %}

/etc/sudoers.d/admins:
  file.managed:
    - contents: '%admins ALL=(ALL:ALL) NOPASSWD: ALL'
    - mode: '0440'
    - check_cmd: visudo --check --file
    - require:
      - group: admins
