include:
  - repository

tools:
  pkg.installed:
    - pkgs:
      - cron
      - logrotate
      - procps
    - require:
      - pkgrepo: repository
