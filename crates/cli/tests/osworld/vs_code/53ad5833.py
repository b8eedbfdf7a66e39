"""A small project, and the extension of the suite, whose command writes down the name of the folder that is open."""
import json
import sys
import zipfile
from io import BytesIO

TEXTS = {"main.py": 'print("hello")\n', "README.md": "# A project\n", "settings.json": "{}\n"}
PACKAGE = {
    "name": "eval", "publisher": "undefined_publisher", "version": "0.0.1", "engines": {"vscode": "^1.60.0"},
    "main": "./extension.js", "activationEvents": ["*"],
    "contributes": {"commands": [{"command": "eval.OpenProject", "title": "OpenProject"}]},
}
CODE = """
const vscode = require('vscode'), fs = require('fs'), os = require('os');
exports.activate = context => context.subscriptions.push(vscode.commands.registerCommand('eval.OpenProject', () =>
  fs.writeFileSync(os.homedir() + '/OpenProject.txt', vscode.workspace.name || '')));
"""
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata><Identity Language="en-US" Id="eval" Version="0.0.1" Publisher="undefined_publisher"/><DisplayName>eval</DisplayName>
<Description>eval</Description><Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value="^1.60.0"/></Properties></Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/>
<Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json"/></Assets></PackageManifest>"""
TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json" ContentType="application/json"/>
<Default Extension=".js" ContentType="application/javascript"/><Default Extension=".vsixmanifest" ContentType="text/xml"/></Types>"""

name, target = sys.argv[1:]
if name in TEXTS:
    with open(target, "w") as file:
        file.write(TEXTS[name])
else:
    package = BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("extension.vsixmanifest", MANIFEST)
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("extension/package.json", json.dumps(PACKAGE))
        archive.writestr("extension/extension.js", CODE)
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("vscodeEvalExtension/eval-0.0.1.vsix", package.getvalue())
