//! Commands, addresses and places of programs within a text: what it looks like when a text has somebody run a program or
//! reach the network.

use std::sync::LazyLock;

use regex::Regex;

type Rule = LazyLock<Option<Regex>>;

/// Programs that change a system, and whose names are no words of a language.
const PROGRAMS: &str = "sudo|doas|wget|netcat|ncat|socat|scp|sftp|rsync|rclone|crontab|systemctl|launchctl|nohup|setsid|\
    apt-get|msiexec|mshta|certutil|bitsadmin|schtasks|rundll32|regsvr32|wscript|cscript|regedit|reg add|netsh|osascript|\
    xattr|spctl|csrutil|chmod|chown|chattr|setfacl|useradd|usermod|visudo|gpasswd|iptables|firewall-cmd|setenforce|mkfs\\S*|\
    wipefs|dd if|rm -\\S+|rd /s|xhost|x11vnc|vncserver|ngrok|cloudflared|mkfifo|invoke-\\S+|start-process|new-object|\
    set-executionpolicy|\\w+-mppreference|history -c|mail -s|find \\S+ .{0,60}(?:-delete|-exec)|crond|icacls|takeown|vssadmin|\
    bcdedit|wevtutil|net user|net localgroup|net share|diskpart";
/// Programs that do much, some of which are words of a language as well: only with an argument.
const WITH_ARGUMENT: &str = "curl|nc|telnet|ssh|ssh-keygen|apt|dnf|yum|pacman|zypper|snap|flatpak|brew|winget|choco|pip|pip3|pipx|\
    npm|npx|pnpm|yarn|gem|cargo|cpan|dpkg|rpm|powershell|pwsh|defaults|adduser|passwd|ufw|nft|fdisk|shred|rmdir|unlink|rm|del|\
    bash|sh|zsh|python|python3|perl|php|ruby|node|eval|xdg-open|gsettings|dconf|git|docker|podman|kubectl|base64|xxd|openssl|gpg|\
    tee|xargs|export|source|alias|kill|pkill|killall|sendmail|cp|mv|zip|tar|ln|make|setx|cipher|code|go|exec|at";

/// Commands that only show something.
const SHOWING: &str = "ls|cd|pwd|cat|less|more|head|tail|grep|wc|echo|man|date|whoami|du|df|sort|uniq|diff|which|file|stat|tree|history|\
    clear|help|find|git status|git log|git diff|git show|git branch";

static PROGRAM: Rule = LazyLock::new(|| {
    Regex::new(&format!(r#"(?i)(?:^|[\s"'`“”„«(>|;&=:：、，])(?:{PROGRAMS})(?:$|[\s"'`“”»).,;:|，。])"#)).ok()
});
/// An argument is an option, a path, an address, a variable or one of the words that make a program change something.
static PROGRAM_WITH_ARGUMENT: Rule = LazyLock::new(|| {
    let argument = r"-{1,2}[A-Za-z]|[~.]?/\S|\w+://|\$\w|\w+=\S|\S+@\S|\S+\.(?:py|js|sh|pl|rb|php|gz|zip|tar)\b|install|uninstall|remove|update|upgrade|clone|push|add|enable|start|run|exec|config|publish|write|--";
    Regex::new(&format!(r#"(?:^|[\s"'`“”„«(>|;&=:：、，])(?:{WITH_ARGUMENT})\s+(?:{argument})"#)).ok()
});
/// A program with an option: `word -x`, `word --long`.
static OPTION: Rule = LazyLock::new(|| {
    Regex::new(
        r#"(?:^|[\s"'`“(])([a-z][a-z0-9_.+-]{1,24})\s+(?:\S+\s+)?-{1,2}[a-zA-Z][\w-]*(?:$|[\s=.,"'`”)])"#,
    )
    .ok()
});
/// Signs by which a shell joins commands.
static JOINED: Rule = LazyLock::new(|| {
    Regex::new(r"(?i)\$\(|\$\{|&&|\|\||\|\s*(?:sh|bash|zsh|python\d?|sudo|tee|iex|sh\b)|>>\s*[~/.\w]|\b2>&1|>\s*[~/]|<\(|;\s*(?:rm|curl|wget|sh)\b|\$env:|%appdata%|%temp%|%userprofile%").ok()
});
/// Files that hold a program, named with a path or after a verb.
static PROGRAM_FILE: Rule = LazyLock::new(|| {
    Regex::new(r"(?i)[\w)/~-]\.(?:sh|bash|zsh|exe|msi|bat|cmd|ps1|vbs|vbe|jse|wsf|scr|deb|rpm|appimage|run|apk|dmg|pkg|jar|desktop|service|plist|xpi|crx|oxt|vsix|whl|dll|so|reg|lnk|hta|url|inf)\b").ok()
});
/// Addresses.
static ADDRESS: Rule = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:https?|ftps?|sftp|wss?|smb|ssh|nfs|dav|webdav|magnet|mailto|tel|data|javascript|vbscript|vnc|rdp)\s?:(?:/|\S)|\bhxxp|\\\\\w[\w.-]+\\|[\w.+-]+\s?(?:@|\(at\)|\[at\]|＠)\s?[\w-]+\s?(?:\.|\(dot\)|\[dot\])\s?[a-z]{2,}|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b").ok()
});
static HOST: Rule = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:[a-z0-9-]+(?:\.|\[\.\]|\(dot\)|\s?\bdot\b\s?))+(?:com|net|org|io|dev|info|biz|xyz|top|site|online|cloud|example|test|invalid|local|onion|ru|cn|de|fr|uk|us|eu|me|tk|ly|gg|cc|ai|co|club|shop|live|link|click|tech|store)\b(?:[/:]\S*)?").ok()
});
/// Places where programs keep keys and what they start with.
static PLACE: Rule = LazyLock::new(|| {
    Regex::new(r#"(?i)(?:^|[\s"'`“(/~\\])\.(?:ssh|aws|gnupg|kube|netrc|pgpass|bashrc|bash_profile|bash_history|zshrc|profile|xinitrc|xprofile|config/autostart|config/systemd|local/share/applications|git/hooks|docker|npmrc|pypirc|mozilla|thunderbird)\b|/etc/\w|/proc/|/dev/(?:tcp|sd|nvme|null)|id_rsa|authorized_keys|known_hosts|\bHK(?:CU|LM|EY)|\\Startup\\|shell:startup|CurrentVersion\\Run|C:\\Windows"#).ok()
});
/// A formula or a field code, not a command.
static NETWORK_FORMULA: Rule = LazyLock::new(|| {
    Regex::new(r"(?i)=\s*(?:WEBSERVICE|IMPORTDATA|IMPORTXML|IMPORTHTML|IMPORTRANGE|IMPORTFEED|IMAGE|HYPERLINK|DDE|SHELL|CALL|EXEC|FILTERXML)\b").ok()
});

fn matches(rule: &Rule, text: &str) -> bool {
    rule.as_ref().is_none_or(|rule| rule.is_match(text))
}

/// Returns why a sentence would run a program, if so.
pub(super) fn runs(sentence: &str) -> Option<&'static str> {
    if matches(&JOINED, sentence) {
        return Some("it holds a command line");
    }
    if matches(&PROGRAM, sentence) || matches(&PROGRAM_WITH_ARGUMENT, sentence) {
        return Some("it names a program of the command line");
    }
    if matches(&PROGRAM_FILE, sentence) {
        return Some("it names a file with a program");
    }
    if matches(&NETWORK_FORMULA, sentence) {
        return Some("it holds a formula that reaches the network or runs a program");
    }
    let option = OPTION.as_ref()?.captures_iter(sentence).any(|found| !shows_only(&found[1]));
    option.then_some("it holds a command with options")
}

/// Returns whether a sentence holds a command, and only one that shows something.
pub(super) fn only_shows(sentence: &str) -> bool {
    let first = |text: &str| text.split_whitespace().next().is_some_and(shows_only);
    let mut quoted = sentence
        .split(['`', '"', '“', '”', '\''])
        .skip(1)
        .step_by(2)
        .filter(|text| !text.trim().is_empty())
        .peekable();
    quoted.peek().is_some() && quoted.all(first)
}

fn shows_only(command: &str) -> bool {
    SHOWING.split('|').any(|shown| shown.split(' ').next() == Some(command))
}

/// Returns whether a sentence names an address outside. A settings page of a browser is none.
pub(super) fn has_address(sentence: &str) -> bool {
    let text = crate::scan::without_stand_ins(sentence);
    matches(&ADDRESS, &text) || matches(&HOST, &text)
}

/// Returns whether a sentence names a place of keys, or one from which programs start.
pub(super) fn has_place(sentence: &str) -> bool {
    matches(&PLACE, sentence)
}

#[cfg(test)]
mod tests {
    use super::{has_address, has_place, only_shows, runs};

    #[test]
    fn commands_addresses_and_places_are_told_from_menus_and_keys() {
        for text in [
            "Type rsync -a folder there.",
            "Enter `chmod +x tool`.",
            "Run tool.sh from the folder.",
            "Paste xy --output z into it.",
            "Write =WEBSERVICE(A1) into a cell.",
            "Add a && b to it.",
        ] {
            assert!(runs(text).is_some(), "{text}");
        }
        for text in [
            "Choose File > Save As > Format - then press Enter.",
            "Select Insert > Field > More Fields (Ctrl+F2).",
            "Type 5-7 as the range, or A1:B3.",
            "Use grep -n in the list that opens.",
        ] {
            assert_eq!(runs(text), None, "{text}");
        }
        assert!(has_address("Open https://a.example/x") && has_address("Write to a.b@c.org"));
        assert!(has_address("Go to files.example.net") && has_address("Connect to 10.0.0.1"));
        assert!(!has_address("Open chrome://settings/content/siteDetails?site=https://<site>"));
        assert!(!has_address("Open report.pdf, notes.txt and index.html."));
        assert!(has_place("Copy ~/.ssh/x") && has_place("/etc/hosts") && !has_place("Open Files/Recent"));
        assert!(only_shows("Type `ls` or `pwd` there."));
        assert!(only_shows("Type `ls` in the terminal.") && !only_shows("Type `ls` and `tool x`."));
    }
}
