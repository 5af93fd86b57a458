# Around a host that can be restarted: starts it again with the files that it had, whenever its first process wants that.
# Arguments: the host's directory, and the command that starts it.
directory=$1
shift
mount --make-rprivate /
mkdir -p "$directory/scratch"
mount -t tmpfs -o mode=755 tmpfs "$directory/scratch"
mkdir "$directory/scratch/upper" "$directory/scratch/work"
while :; do
  setpriv --pdeathsig KILL "$@"
  # reboot(2) in a PID namespace ends its first process by SIGHUP; other ends are for good.
  [ $? = 129 ] || exit
done
