"""What a model says of an attempt, and how it keeps a skillbook: by rule, so that a server can say it in the words of
any protocol. A turn is a text, or calls of tools; none where neither is asked for."""

import json
import re

SKILL = "files-are-saved-by-key"
SITUATION = "What was changed or shown is to be kept in a file, and the program shows no button for that."
GUIDANCE = "1. Press Ctrl+Shift+S. 2. Press Alt+N for the field of the name, and Ctrl+L where there is none."

# What a safety reader is asked for. The one text of these rules has no such effect.
EFFECTS = ["run_code", "send_data", "delete", "change_protection", "grant_access", "spend", "hide", "persist", "unreadable"]


def texts(value):
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(inner)


def block(said, schema):
    """The last block of a schema that was put before the model."""
    found = [json.loads(text) for text in re.findall(r"```json\n(.*?)\n```", "\n".join(said), re.S)]
    return next((one for one in reversed(found) if one.get("schema") == schema), None)


def turn(conversation):
    said = list(texts(conversation))
    if block(said, "effects.text.v1"):
        return json.dumps({effect: [] for effect in EFFECTS})
    if item := block(said, "manage.item.v2"):
        return manage(item, said)
    if outcome := block(said, "reflect.outcome.v1") or block(said, "reflect.material.v1"):
        return reflect(outcome)
    return None


def reflect(outcome):
    learning = {"type": "friction", "scope": outcome["apps"][0], "situation": SITUATION, "guidance": GUIDANCE,
                "confidence": "high", "steps_wasted": 1, "evidence": [outcome["steps"][-1]["id"]]}
    return json.dumps({"skill_reviews": [], "new_learnings": [learning]})


def manage(item, said):
    """Looks first, writes then, and ends. A tool that was called stands in the conversation by its bare name."""
    payload = item["payload"]
    if "create_skill" in said:
        return "That is decided."
    if "fetch_similar_skills" not in said:
        return [("fetch_similar_skills", {"situation": payload["situation"]})]
    skill = {"domain": payload["domain"], "skill_name": SKILL, "description": "Saving to a file by keys alone",
             "situation": payload["situation"], "guidance": payload["guidance"]}
    domain = {"domain": payload["domain"], "description": f"What {payload['domain']} hides"}
    return [("create_domain", domain), ("create_skill", skill)]
