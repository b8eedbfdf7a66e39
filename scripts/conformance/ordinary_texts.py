#!/usr/bin/env python3
"""Writes names and sentences of six languages that hold no secret, for the test of the scanner of secrets.

Usage: scripts/conformance/ordinary_texts.py > crates/secrets/tests/it/ordinary.txt

Many of them come close to the form of a key: they begin with its letters, are as long, or speak of passwords.
"""

import random

WORDS = {
    "en": "risk disk task desk mask brisk annual budget report summary assessment settings analyzer usage meeting notes "
    "invoice customer project design draft final review translation keyboard password token secret account access "
    "authentication bearer certificate recovery backup login session cookie private public release version".split(),
    "de": "Risiko Kiosk Übersicht Bericht Rechnung Kennwort Passwort Zugang Schlüssel Konto Einstellungen Datei Ordner "
    "Besprechung Entwurf Versicherung Straßenverkehr Haushaltsplan Zusammenfassung Anmeldung Sitzung".split(),
    "fr": "risque disque tâche bureau masque facture réunion rapport résumé clé compte accès mot connexion séance brouillon "
    "traduction paramètres sauvegarde récupération".split(),
    "es": "riesgo disco tarea escritorio factura reunión informe resumen clave cuenta acceso sesión contraseña borrador "
    "traducción ajustes copia recuperación".split(),
    "pl": "ryzyko dysk zadanie biurko faktura spotkanie raport podsumowanie klucz konto dostęp hasło sesja szkic "
    "tłumaczenie ustawienia kopia odzyskiwanie".split(),
    "ja": "報告書 予算 会議 設定 鍵 アカウント パスワード 請求書 翻訳 下書き 概要 復元 作業 机 円盤".split(),
}
BEGINNINGS = (
    "sk- sk-SK- ask- risk- task- disk-usage- desk-sk- brisk_ xai- pplx- gsk_ ntn_ glc_ nfp_ key- pul- dapi- hf- npm- pypi- "
    "ghost_ github- SG. SKU- AKIN- eye- bearer- token- secret- api-key- client-id- auth-key- pat- Notes- Meeting- Overview- "
    "hooks. v2.0- sq0- figd_ dp. hvs- ops_ LTAI- ya29- xox- shp- do- AIzawa- AGE- whsec- key_"
).split()
ENDINGS = ["", ".txt", ".pdf", ".tar.gz", "_v2", "-2026", "-2026-11-28", ".final", "-draft3", ".xlsx"]
SENTENCES = {
    "en": [
        "The password field stays grey until {} is ticked.",
        "The password is required.",
        "The password must have at least 8 characters.",
        "Choose a password of 12 characters or more for {}.",
        "Access token: expired on 2026-03-01.",
        "The secret is to save {} before {}.",
        "Press Ctrl+Shift+P and type {}.",
        "Sign in / {} settings",
        "Backup codes are shown once.",
        "Recovery codes: see the page {}.",
        "Bearer authentication-and-authorization-overview",
        "Cookie: see {}.",
        "The API key belongs into {}.",
        "See https://example.org:8080/{}/index.html for {}.",
        "Forgot your password? Ask {}.",
        "Client ID: customer-service-{}-2026",
        "Call +49 30 1234567 about {}.",
        "It took 0.5454545454545454 s and 17.4539578763621486 MB.",
        "Order 4500012345678 was sent to {}.",
    ],
    "de": [
        "Das Passwort ist 8-stellig.",
        "Das Kennwort lautet wie im Brief.",
        "Passwort: mindestens 12 Zeichen.",
        "Zugang nur mit {} und {}.",
        "Der Schlüssel für {} liegt im Ordner {}.",
        "Bitte {} bis 28.11.2026 prüfen.",
    ],
    "fr": [
        "Le mot de passe est obligatoire !",
        "Mot de passe : au moins 8 caractères.",
        "Ouvrez {} puis choisissez {}.",
        "La clé de {} est dans {}.",
    ],
    "es": [
        "La contraseña es obligatoria.",
        "Contraseña: mínimo 8 caracteres.",
        "Abra {} y elija {}.",
        "La clave de {} está en {}.",
    ],
    "pl": [
        "Hasło jest wymagane.",
        "Hasło: co najmniej 8 znaków.",
        "Otwórz {} i wybierz {}.",
        "Klucz do {} leży w {}.",
    ],
    "ja": [
        "パスワードは必須です。",
        "パスワード：8文字以上",
        "{}を開いて{}を選びます。",
        "{}の鍵は{}にあります。",
    ],
}


def main():
    rng = random.Random(41)
    lines = []
    for language, words in WORDS.items():
        for sentence in SENTENCES[language]:
            for _ in range(12 if "{}" in sentence else 1):
                lines.append(sentence.format(*rng.sample(words, sentence.count("{}"))))
        for _ in range(220):
            name = rng.choice("-_. ").join(rng.sample(words, rng.randint(2, 5))) + rng.choice(ENDINGS)
            lines.append(name)
    english = WORDS["en"]
    for beginning in BEGINNINGS:
        for count in (2, 3, 4, 6):
            lines.append(beginning + rng.choice("-_").join(rng.sample(english, count)) + rng.choice(ENDINGS))
    for _ in range(120):
        number = rng.randint(10**9, 10**14)
        lines.append(rng.choice(["run {}", "{} bytes", "id={}", "seed: {}", "at {} ns"]).format(number))
    for _ in range(80):
        lines.append("/".join(["", "home", "user", *rng.sample(english, 3)]) + rng.choice(ENDINGS[1:]))
    print("\n".join(dict.fromkeys(lines)))


main()
