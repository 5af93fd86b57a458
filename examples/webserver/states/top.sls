# Packages before all else: in the mode `genius` they become one transaction. Services have `order: last`: all that
# they read is there when they start.
base:
  '*':
    - base.packages
    - firewall.packages
    - nginx.packages
    - base
    - users
    - firewall
    - nginx
    - site
    - status
    - backup
