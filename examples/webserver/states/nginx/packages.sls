include:
  - repository

nginx:
  pkg.installed:
    - require:
      - pkgrepo: repository
