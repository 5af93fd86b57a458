include:
  - nginx.packages

{# Reloaded when one of its files has changed: those here, and those of others who name it in their `watch_in`. #}
web server:
  service.running:
    - name: nginx
    - enable: True
    - reload: True
    - order: last
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
      - service: web server

/etc/nginx/sites-enabled/default:
  file.absent:
    - require:
      - pkg: nginx
    - watch_in:
      - service: web server
