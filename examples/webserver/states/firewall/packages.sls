include:
  - repository

nftables:
  pkg.installed:
    - require:
      - pkgrepo: repository
