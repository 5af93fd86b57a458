groups:
  admins: {gid: 2000}
  publishers: {gid: 2001}

people:
  alice:
    uid: 2100
    fullname: Alice Adams
    groups: [admins, publishers]
    keys:
      - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA1DtyJ42780bjHihDayUuXCEAShqnbIKTysm5IxplPJ alice@laptop
      - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAII0boSWHX4vkmCB/pTnFxLwo9BT+U5jE79EqYT+bXuuo alice@desk
  bob:
    uid: 2101
    fullname: Bob Brown
    groups: [publishers]
    keys:
      - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINOvj6bQkvwkbTjBNijKDlIokldz4yM8yD6dlbkq1iqv bob@laptop
