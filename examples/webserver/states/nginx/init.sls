include:
  - repository

nginx:
  pkg.installed:
    - require:
      - pkgrepo: repository
  service.running:
    - enable: True
    - reload: True
    - require:
      - pkg: nginx

/etc/nginx/conf.d/limits.conf:
  file.managed:
    - contents: |
        server_tokens off;
        client_max_body_size 1m;
    - require:
      - pkg: nginx
    - watch_in:
      - service: nginx

/etc/nginx/sites-enabled/default:
  file.absent:
    - require:
      - pkg: nginx
    - watch_in:
      - service: nginx
