base:
  '*':
    - base
    - users
    - firewall
    - nginx
    - site
    - status
    - backup
