"""Prints the items of open menus that their toolkit does not say to show, as GTK 2's: JSON lists of the program's name, the item's path of
indexes in it, its name, and its place. What it says of places is left over from the last time a menu was open, so an item counts
where a window of a menu is drawn."""

import json

import pyatspi
from Xlib import X, display

MENUS = {
    pyatspi.ROLE_MENU,
    pyatspi.ROLE_MENU_ITEM,
    pyatspi.ROLE_CHECK_MENU_ITEM,
    pyatspi.ROLE_RADIO_MENU_ITEM,
    pyatspi.ROLE_TEAROFF_MENU_ITEM,
}
LEVELS = 6  # from a program to its menu bar


def popups():
    """The areas of windows that no window manager looks after."""
    for window in display.Display().screen().root.query_tree().children:
        facts = window.get_attributes()
        if facts.override_redirect and facts.map_state == X.IsViewable:
            place = window.get_geometry()
            yield place.x, place.y, place.width, place.height


def children(node):
    try:
        return [child for child in node]
    except Exception:
        return []  # It has gone.


def place_in_popup(item, areas):
    try:
        x, y, width, height = item.queryComponent().getExtents(pyatspi.XY_SCREEN)
    except Exception:
        return None
    middle = x + width // 2, y + height // 2
    inside = [
        True for left, top, wide, high in areas if left <= middle[0] < left + wide and top <= middle[1] < top + high
    ]
    return [x, y, width, height] if inside and width > 0 and height > 0 else None


def open_items(menu, path, areas, found):
    for index, item in enumerate(children(menu)):
        place = place_in_popup(item, areas) if item and item.getRole() in MENUS else None
        if place:
            found.append([path + [index], item.name, place])
            open_items(item, path + [index], areas, found)


def look(node, path, areas, found):
    for index, child in enumerate(children(node)):
        if child is None:
            continue
        below = path + [index]
        if child.getRole() == pyatspi.ROLE_MENU_BAR:
            for number, menu in enumerate(children(child)):
                open_items(menu, below + [number], areas, found)
        elif len(below) < LEVELS:
            look(child, below, areas, found)


areas = list(popups())
items = []
for program in children(pyatspi.Registry.getDesktop(0)) if areas else []:
    found = []
    if program is not None:
        look(program, [], areas, found)
        items += [[program.name] + item for item in found]
print(json.dumps(items))
