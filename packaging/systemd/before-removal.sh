# Before a package goes, and not when another version follows: captures end in order, and no link to a unit stays.
# The words are those of Debian and of RPM.
case $1 in
    remove | 0)
        if [ -d /run/systemd/system ]; then
            systemctl stop 'tapline-capture@*.service' 'tapline-capture@*.socket'
        fi
        if command -v systemctl >/dev/null; then
            systemctl --quiet disable tapline-capture@.service tapline-capture@.socket
        fi
        ;;
esac
