base:
  '*':
    - machine
    - people
    - site
