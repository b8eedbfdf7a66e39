//! Rules for words aimed at an agent, and for ways out of the program that a skill is about.

/// Sentences that address an agent's instructions, in the most common languages of web pages.
pub(super) const INJECTIONS: &[&str] = &[
    r"(?i)\b(ignore|disregard|forget|override|bypass|violate)\b.{0,20}\b(all|any|every|previous|prior|earlier|preceding|above|original|initial|your|these|those|safety|security|system)\b.{0,30}\b(instructions?|prompts?|rules|guidelines|guidance|directions|directives|orders|commands|restrictions|task)\b",
    r"(?i)\b(ignore|disregard|forget)\s+(the|this|that|its)?\s*(instructions|task (you|above|given|at hand))\b",
    r"(?i)\b(ignore|disregard|forget)\s+(everything|all|anything|what)\s+(that\s+)?(you|above|before|was|has|said|i)\b",
    r"(?i)\b(new|updated|real|actual)\s+(instructions|orders|directives)\s*(:|are|follow)",
    r"(?i)\bfrom now on,?\s+you\b",
    r"(?i)(^|[.!?\n]\s*)(system|developer|assistant)\s*:\s*(you|your|ignore|from now|obey|grant|new|the user|override)\b",
    r"(?i)\byou are now (a|an|the|free|no longer|dan|unrestricted|acting|allowed|permitted|authori[sz]ed|in (developer|admin|god|jailbreak|unrestricted|debug) mode)\b",
    r"(?i)\b(pretend|act|behave|role-?play)\s+(as|to be|like|that you are|you are)\b.{0,30}\b(dan|administrator|admin|root|superuser|no restrictions|without (any )?restrictions|unrestricted|jailbroken)\b",
    r"(?i)\b(reveal|print|show|repeat|output|tell|display|follow|obey|change|ignore)\b.{0,30}\b(system|developer|hidden|initial|original) (prompt|message|instructions)\b",
    r"(?i)\bsystem prompt\b",
    r#"(?i)\brepeat (the|all|every)\b.{0,15}\b(words?|text|everything|lines?) (above|before)\s*([.,;:!?"]|$|\n|verbatim\b|exactly\b|word\b|starting\b|in\b|to\b)"#,
    r"(?i)\b(do not|don't|never)\s+(tell|inform|mention|notify|alert|warn)\b.{0,30}\b(user|human|anyone|owner|operator)\b",
    r"(?i)\bhide (it|this|that|these|what you did)\b.{0,20}\bfrom (the )?(user|human|owner|operator)\b",
    r"(?i)\b(allow|approve|accept|confirm|grant|agree|permit)\b.{0,60}\bwithout (asking|telling|informing|notifying) (the )?(user|human|anyone|owner|operator)\b",
    r"(?i)<\s*/?\s*(system|assistant|instructions?|tool_calls?|tool_results?|function_calls?)\s*>",
    r"(?i)<\|\s*/?(im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id)\s*\|>",
    r"(\[/?INST\]|<</?SYS>>)",
    r"(?i)\b(call|invoke|use)\s+(the\s+)?(tool|function)\s+\W?(skill|create|update|merge|delete|annotate)_[a-z]+",
    r"(?i)\b(exfiltrate|send)\b[^.;>\n]{0,40}\b(credentials?|passwords?|tokens?|cookies)\b",
    r"(?i)\b(e-?mail|upload|post|forward|submit|transmit|leak)\b[^.;>\n]{0,40}\b(credentials?|passwords?|password manager|cookies|saved log-?ins|api keys?|private keys?)\b",
    r"(?i)\b(copy|paste|type|enter|write)\b.{0,30}\b(session cookies?|cookies|access tokens?|api keys?|private keys?|saved (passwords|log-?ins))(\s+(of|from|for)\b.{0,30})?\s+(into|in|to)\b",
    // German, Dutch.
    r"(?i)\b(ignorier\w*|missacht\w*|vergiss|vergesst|vergessen sie)\b.{0,40}\b(anweisung\w*|instruktion\w*|vorgaben|vorherigen befehle|bisherigen regeln)\b",
    r"(?i)\b(negeer|vergeet)\b.{0,40}\b(instructies|aanwijzingen|opdrachten)\b",
    // French, Spanish, Italian, Portuguese; without diacritics, which the reading removes.
    r"(?i)\b(ignore[zr]?|oublie[zr]?|neglige[zr]?)\s+(les|la|le|toutes?|tes|vos|ces|mes|aux|des|l)\b.{0,40}\b(instructions|consignes|directives)\b",
    r"(?i)\b(ignor(a|e|ar|en)|olvid(a|e|ar|en)|desobedece)\b.{0,40}\b(instrucciones|indicaciones|ordenes)\b",
    r"(?i)\b(ignora(re|te)?|dimentica(re|te)?)\b.{0,40}\b(istruzioni|indicazioni|ordini)\b",
    r"(?i)\b(ignor(a|e|ar|em)|esquec(a|er)|desconsider(e|ar))\b.{0,40}\b(instrucoes|orientacoes|ordens)\b",
    // Polish, Turkish, Russian, Arabic.
    r"(?i)\b(z?ignoruj(cie)?|zapomnij)\b.{0,40}\b(polecenia|instrukcje|instrukcjach|polecen|instrukcji)\b",
    r"(?i)\b(onceki|yukaridaki|tum)\b.{0,30}\b(talimat\w*|komut\w*)\b.{0,30}\b(yok say|unut|gormezden)",
    r"(?i)(игнорируй|проигнорируй|забудь|игнорируйте|забудьте).{0,40}(инструкци|указани|команды|распоряжени)",
    r"(تجاهل|انس).{0,30}(التعليمات|الأوامر)",
    // Chinese, Japanese, Korean.
    r"(忽略|无视|無視|忘记|忘記|不要理会).{0,8}(之前|以上|先前|所有|前面|上述|系统|系統).{0,8}(指令|指示|提示|规则|規則|命令)",
    r"(以前|これまで|上記|前|すべて|全て).{0,10}(指示|命令|プロンプト).{0,10}(無視|忘れ)",
    r"(이전|위의|모든).{0,10}(지시|명령|프롬프트).{0,10}(무시|잊)",
];

/// Ways out: addresses, commands that cause harm or download others, locations of credentials.
pub(super) const ADDRESSES: &[&str] = &[
    r"(?i)\b(https?|ftp|wss?)://",
    r"(?i)\b(javascript:\S|data:[a-z]+/[a-z])",
    r"(?i)\b(go|navigate|browse|connect) to (www\.)?[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}/\S",
    r"(?i)\b(curl|wget)\b.{0,80}\|",
    r#"(?i)\b(curl|wget)\s+(-{1,2}[a-z-]+\s+)*["']?[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}(/|\s|$)"#,
    r"(?i)\brm\s+-[a-z]*(r[a-z]*f|f[a-z]*r)",
    r"(?i)\bsudo\s+(rm|dd|mkfs\S*|chmod|chown|visudo|su|sh|bash)\b",
    r"(?i)\bchmod\s+(-r\s+)?0?777\b",
    r"(?i)(\bdd\b.{0,40}\bof=/dev/|\bmkfs\.\w+\s|>\s*/dev/sd[a-z])",
    r":\s*\(\s*\)\s*\{.{0,20}\|",
    r#"(?i)\beval\s+["'`]?(\$\(|`)"#,
    r"(?i)(\bnc(at)?\b.{0,30}\s(-[a-z]*e|--exec)\b|/dev/tcp/)",
    r"(?i)\b(ba|z|da)?sh\s+-c\b",
    r"(?i)\b(python3?|perl|ruby|node)\s+-[ce]\b",
    r"(?i)\bbase64\s+(-d|--decode)\b",
    r"(?i)\bpowershell\b.{0,40}\s-e(nc|ncodedcommand)?\b",
    r"(?i)(/etc/(shadow|gshadow|sudoers)\b|\bprintenv\b|/proc/\w+/environ\b)",
    r#"(?i)(^|[\s"'`/~])\.(ssh|aws|gnupg|kube|netrc|pgpass)\b"#,
];

/// The address of a browser's own settings page with a stand-in for a site as its argument, such as
/// `chrome://settings/content/siteDetails?site=https://<site>`. It leads nowhere outside.
pub(super) const SETTINGS_PAGE: &str = r#"(?i)\b((?:chrome|chromium|edge|brave|vivaldi|opera)://settings(?:/[a-z]+)*\?[a-z]+=)https?(?:://|%3A%2F%2F)(?:<[a-z ]{1,30}>|\{[a-z_ ]{1,30}\}|\[[a-z ]{1,30}\]|…|\.\.\.)/?($|[\s"'`,;)])"#;
