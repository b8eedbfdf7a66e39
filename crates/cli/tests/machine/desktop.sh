#!/bin/sh
# Starts what an image of OSWorld's starts: an X server, a session of Xfce with all that belongs to it, and OSWorld's server.
set -eu
cd ~/server
Xvfb :9 -screen 0 1920x1080x24 -noreset -nolisten tcp >xvfb.log 2>&1 &
# Nothing of the cell's own session.
unset AT_SPI_BUS_ADDRESS DBUS_SESSION_BUS_ADDRESS SESSION_MANAGER
export DISPLAY=:9 XDG_CURRENT_DESKTOP=XFCE PYTHONPATH="$HOME/server/lib"
# As the scripts of /etc/X11/Xsession.d set it before a session.
export GTK_MODULES=gail:atk-bridge
# Of LibreOffice's icons those for a light window, which it does not choose by itself under this window manager.
sed -i 's#</oor:items>#<item oor:path="/org.openoffice.Office.Common/Misc"><prop oor:name="SymbolStyle" oor:op="fuse"><value>colibre</value></prop></item>&#' \
  ~/.config/libreoffice/4/user/registrymodifications.xcu
exec dbus-run-session -- sh -c '
  gsettings set org.gnome.desktop.interface toolkit-accessibility true
  xfce4-session >session.log 2>&1 &
  exec /usr/bin/python3 main.py'
