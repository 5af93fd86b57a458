site:
  name: example.test
  root: /var/www/example.test
  # A page for each.
  pages:
    index: It works
    about: Who we are
    contact: How to reach us

# Seconds between two reports of the service.
status:
  every: 5
