import QtQuick 2.15
import QtQuick.Controls 2.15

ApplicationWindow {
    visible: true
    width: 500
    height: 300
    title: "QML form"
    menuBar: MenuBar {
        Menu {
            title: "File"
            MenuItem { text: "Open"; onTriggered: dialog.open() }
            MenuItem { text: "Quit"; onTriggered: Qt.quit() }
        }
        Menu {
            title: "Help"
            MenuItem { text: "About" }
        }
    }
    Column {
        anchors.centerIn: parent
        spacing: 8
        TextField { Accessible.name: "Name" }
        ComboBox { model: ["Small", "Medium", "Large"] }
        CheckBox { text: "Agree" }
        Button { text: "Save" }
    }
    Dialog {
        id: dialog
        title: "Open what?"
        modal: true
        anchors.centerIn: parent
        standardButtons: Dialog.Ok | Dialog.Cancel
    }
}
