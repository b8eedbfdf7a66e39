"""Drives a served world with OSWorld's own clients, unchanged: PythonController, SetupController and DesktopEnv. Run by
`scripts/conformance/serve-clients`, with the program in the variable APPRENTICE."""

import importlib
import os
import sys
import tempfile
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../osworld"))
import oracle

# What the clients import for clouds, drives, browsers, documents and pictures, which no task here uses.
oracle.ABSENT |= {
    "docx", "pptx", "odf", "skimage", "scipy", "imagehash", "fitz", "pypdf", "librosa", "fastdtw", "pydub", "soundfile",
    "playwright", "pydrive", "docker", "boto3", "botocore", "fabric", "filelock", "cv2", "torch", "transformers",
    "matplotlib", "pyautogui", "pynput", "easyocr", "flask", "alibabacloud_ecs20140526", "volcengine", "dashscope",
}
PLAIN = ["mousepad", "/home/user/notes.txt"]


def clients():
    """Imports the package with stand-ins for libraries that are not there."""
    sys.meta_path.insert(0, oracle.Finder())
    return (
        importlib.import_module("desktop_env.controllers.python").PythonController,
        importlib.import_module("desktop_env.controllers.setup").SetupController,
    )


def check(what, holds):
    if not holds:
        sys.exit(f"failed: {what}")
    print(f"ok: {what}", flush=True)


def drive_controllers(server):
    python_controller, setup_controller = clients()
    host, port = server.url.removeprefix("http://").split(":")
    controller = python_controller(host, int(port))
    check("get_screenshot is a PNG", controller.get_screenshot().startswith(b"\x89PNG"))
    check("get_vm_platform", controller.get_vm_platform().strip() == "Linux")
    check("get_vm_screen_size", controller.get_vm_screen_size() == {"width": 1280, "height": 800})
    with tempfile.TemporaryDirectory() as cache:
        source = os.path.join(cache, "notes.txt")
        with open(source, "w") as file:
            file.write("one\n")
        setup = setup_controller(host, int(port), cache_dir=cache)
        steps = [
            {"type": "upload_file", "parameters": {"files": [{"local_path": source, "path": "/home/user/notes.txt"}]}},
            {"type": "launch", "parameters": {"command": PLAIN}},
            {"type": "open", "parameters": {"path": "/home/user/notes.txt"}},
            {"type": "activate_window", "parameters": {"window_name": "notes.txt - Mousepad", "strict": False}},
            {"type": "execute", "parameters": {"command": "echo $((40 + 2)) > ~/sum", "shell": True}},
            {"type": "execute", "parameters": {"command": ["cat", "/home/user/sum"], "stdout": "sum.txt"}},
        ]
        check("SetupController.setup", setup.setup(steps) is True)
        with open(os.path.join(cache, "sum.txt")) as file:
            check("the output of a setup step is kept", file.read() == "42\n")
    controller.execute_action({"action_type": "HOTKEY", "parameters": {"keys": ["ctrl", "End"]}})
    controller.execute_action({"action_type": "TYPING", "parameters": {"text": "two, <three> & \"four\""}})
    controller.execute_action({"action_type": "HOTKEY", "parameters": {"keys": ["ctrl", "s"]}})
    saved = controller.get_file("/home/user/notes.txt")
    check(f"typed text is saved: {saved!r}", saved == b'one\ntwo, <three> & "four"')
    tree = controller.get_accessibility_tree()
    check("get_accessibility_tree has the window", "notes.txt" in tree and "<application" in tree)
    answer = controller.run_python_script("print(6 * 7)")
    check(f"run_python_script: {answer}", answer["output"] == "42\n")
    answer = controller.run_bash_script("echo out; echo err >&2; exit 3")
    check(f"run_bash_script: {answer}", (answer["output"], answer["returncode"]) == ("out\nerr\n", 3))
    check("get_vm_window_size", controller.get_vm_window_size("mousepad")["width"] > 100)
    listed = controller.get_vm_directory_tree("/home/user")
    check("get_vm_directory_tree", "notes.txt" in [child["name"] for child in listed["children"]])
    check("get_vm_desktop_path", controller.get_vm_desktop_path() == "/home/user/Desktop")


# A provider in three lines.
class Served:
    def __init__(self, server):
        self.server = server

    def start_emulator(self, *_):
        pass

    def get_ip_address(self, _):
        return f"{self.server.url.removeprefix('http://')}:9222:8006:8080"

    def revert_to_snapshot(self, path, _):
        self.server.ask("/reset", {}, 300)
        return path

    def stop_emulator(self, *_):
        pass


def drive_env(server):
    providers = types.ModuleType("desktop_env.providers")
    providers.__path__ = [os.path.join(os.path.dirname(importlib.import_module("desktop_env").__file__), "providers")]
    providers.create_vm_manager_and_provider = lambda *_, **__: (None, Served(server))
    sys.modules["desktop_env.providers"] = providers
    desktop_env = importlib.import_module("desktop_env.desktop_env")
    with tempfile.TemporaryDirectory() as cache:
        env = desktop_env.DesktopEnv(
            provider_name="vmware", path_to_vm="served", cache_dir=cache, screen_size=(1280, 800), action_space="pyautogui"
        )
        task = {
            "id": "served-task",
            "instruction": "Write the word done into the file answer.txt.",
            "config": [{"type": "launch", "parameters": {"command": PLAIN}},
                       {"type": "execute", "parameters": {"command": ["rm", "-f", "/home/user/answer.txt"]}}],
            "evaluator": {
                "func": "exact_match",
                "result": {"type": "vm_command_line", "command": ["cat", "/home/user/answer.txt"]},
                "expected": {"type": "rule", "rules": {"expected": "done"}},
            },
        }
        observed = env.reset(task_config=task)
        check("DesktopEnv.reset observes", observed["screenshot"].startswith(b"\x89PNG") and observed["accessibility_tree"])
        check("DesktopEnv.evaluate before: 0", env.evaluate() == 0)
        observed, reward, done, _ = env.step("pyautogui.click(640, 400)", pause=0.2)
        check("DesktopEnv.step observes", observed["screenshot"].startswith(b"\x89PNG") and not done)
        server.ask("/execute", {"command": "printf done > ~/answer.txt", "shell": True})
        _, _, done, _ = env.step("DONE", pause=0.2)
        check("DesktopEnv.evaluate after: 1", done and env.evaluate() == 1)
        env.reset(task_config=task)
        check("DesktopEnv.reset reverts the world", env.evaluate() == 0)
        env.close()


def main():
    from apprentice_env import World

    server = World("--screen", "1280x800")
    try:
        drive_controllers(server)
        drive_env(server)
    finally:
        server.close()


main()
