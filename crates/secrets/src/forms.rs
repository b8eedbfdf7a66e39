//! The forms of keys, by the services that give them out. The one list of the project.

/// What a match must show beside its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Nothing: the form is of nothing else.
    Form,
    /// That it is not made of words and numbers alone, as the names of files are.
    Random,
    /// The same, where dots are part of keys: words with hyphens are a name.
    NoHyphenedWords,
}

/// A form: its name, and what it looks like.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) proof: Proof,
    pub(crate) pattern: &'static str,
}

const fn form(name: &'static str, pattern: &'static str) -> Form {
    Form { name, proof: Proof::Form, pattern }
}

const fn random(name: &'static str, pattern: &'static str) -> Form {
    Form { name, proof: Proof::Random, pattern }
}

/// All forms. None begins within a word: the scan sees to that for letters of any script, and `(?-u:\b)` ends those of a fixed
/// length.
pub(crate) const FORMS: &[Form] = &[
    random("OpenAI, Anthropic, OpenRouter and others", r"sk-[A-Za-z0-9_-]{16,}"),
    form("AWS key id", r"(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)"),
    form("GitHub", r"gh[pousr]_[A-Za-z0-9]{30,}"),
    form("GitHub, fine-grained", r"github_pat_[A-Za-z0-9_]{30,}"),
    random("GitLab", r"gl(?:pat|ptt|dt|rt|soat|cbt|ft|imt|agent)-[A-Za-z0-9_-]{20,}"),
    form("Slack", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    random("Slack app", r"xapp-\d-[A-Za-z0-9-]{10,}"),
    random("Google API", r"AIza[0-9A-Za-z_-]{30,}"),
    random("Google OAuth client", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    random("Google OAuth", r"ya29\.[A-Za-z0-9_-]{20,}"),
    form("JSON web token", r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"),
    random(
        "Groq, Replicate, Figma, Netlify, Docker, Sentry, Grafana, Linear, Notion, PlanetScale",
        r"(?:gsk|r8|figd|nfp|dckr_(?:pat|oat)|sntry[su]|glsa|glc|lin_api|ntn|pscale_(?:tkn|pw|oauth))_[A-Za-z0-9_+/=-]{20,}",
    ),
    form(
        "Supabase, Databricks, RubyGems, Pulumi, Mailgun",
        r"(?:sbp_|dapi|rubygems_|pul-|key-)[a-f0-9]{32,}(?-u:\b)",
    ),
    random("xAI, Perplexity, Postman, New Relic", r"(?:xai|pplx|PMAK|NRAK|NRJS)-[A-Za-z0-9-]{24,}"),
    random("Vault", r"hv[sb]\.[A-Za-z0-9_-]{24,}"),
    form("Terraform", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    form("Doppler", r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{40,}"),
    random("Atlassian", r"ATATT3[A-Za-z0-9_=-]{60,}"),
    form("Airtable", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}(?-u:\b)"),
    random("Square", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    form("Alibaba", r"LTAI[A-Za-z0-9]{17,21}(?-u:\b)"),
    form("1Password", r"ops_eyJ[A-Za-z0-9_-]{40,}"),
    form("Azure client", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    form("Mailchimp", r"[a-f0-9]{32}-us\d{1,2}(?-u:\b)"),
    form("Slack hook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}"),
    form("Discord hook", r"discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{30,}"),
    random("Discord", r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    random(
        "Fireworks, Neon, Typeform, Prefect, Adafruit, Duffel, Supabase, Contentful, Cerebras, Voyage, Tavily, Tailscale, Resend",
        r"(?:fw_|napi_|tfp_|pnu_|aio_|duffel_(?:live|test)_|sb_secret_|CFPAT-|csk-|pa-|tvly-(?:dev-|prod-)?|tskey-[a-z]+-|re_[A-Za-z0-9]{8}_)[A-Za-z0-9_-]{24,}",
    ),
    form(
        "E2B, Sourcegraph, Buildkite, Shippo, Clojars, ReadMe, Firecrawl, GitLab's applications, Linear, ElevenLabs",
        r"(?:e2b_|sgp_(?:[a-f0-9]{16}_)?|bkua_|shippo_(?:live|test)_|CLOJARS_|rdme_|fc-|gloas-|lin_oauth_|sk_)[a-f0-9]{32,}(?-u:\b)",
    ),
    form("Langfuse", r"[ps]k-lf-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}(?-u:\b)"),
    form("LangSmith", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}(?-u:\b)"),
    random("Weights & Biases, CircleCI, Notion", r"(?:wandb_v\d_|CCIPAT_|secret_)[A-Za-z0-9_]{43,}"),
    form("Cloudflare", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}(?-u:\b)"),
    random("Fly", r"f[mo]\d_[A-Za-z0-9+/=_-]{40,}"),
    random("Dropbox", r"sl\.(?:u\.)?[A-Za-z0-9_-]{60,}"),
    form("Asana", r"[12]/(?:\d{10,20}/)?\d{10,20}:[a-f0-9]{32}(?-u:\b)"),
    random("EasyPost, JFrog, Heroku", r"(?:EZ[AT]K|AKCp|HRKU-)[A-Za-z0-9_-]{50,}"),
    random("Facebook, Square", r"EAA[A-Z][A-Za-z0-9_-]{56,}"),
    form("Braintree", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}(?-u:\b)"),
    form("Dynatrace", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}(?-u:\b)"),
    form("Brevo", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}(?-u:\b)"),
    form("Scaleway", r"SCW[A-Z0-9]{17}(?-u:\b)"),
    form("Nostr", r"nsec1[02-9ac-hj-np-z]{58}(?-u:\b)"),
    form("Mapbox", r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    form("AWS session", r"IQoJb3JpZ2lu[A-Za-z0-9+/=]{60,}"),
    form(
        "password's hash",
        r"\$(?:1|2[abxy]|5|6|7|y|apr1|argon2i?d?|scrypt)\$[^\s:$]{1,60}\$?[A-Za-z0-9./+,=$]{20,}",
    ),
    form("private key of PuTTY", r"Private-Lines:\s*\d+\s+[A-Za-z0-9+/=\s]{40,}"),
    form("npm", r"npm_[A-Za-z0-9]{36}(?-u:\b)"),
    random("PyPI", r"pypi-[A-Za-z0-9_-]{60,}"),
    form("Hugging Face", r"hf_[A-Za-z0-9]{30,}"),
    form("Stripe", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    form("Stripe hook", r"whsec_[A-Za-z0-9+/]{24,}"),
    random("SendGrid", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    form("Twilio", r"SK[0-9a-f]{32}(?-u:\b)"),
    form("Shopify", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}(?-u:\b)"),
    form("DigitalOcean", r"do[opr]_v1_[a-f0-9]{64}(?-u:\b)"),
    form("Telegram", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    form("age", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    form("Azure account", r"(?i)(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,}={0,2}"),
    Form {
        name: "bearer token",
        proof: Proof::NoHyphenedWords,
        pattern: r"(?i)bearer\s+[A-Za-z0-9._~+/-]{20,}=*",
    },
    form("basic authorization", r"(?i)authorization:\s*basic\s+[A-Za-z0-9+/]{8,}={0,2}"),
    form("cookie", r"(?i)cookie:\s*[^\s=;]+=[^\s;]{16,}"),
    form(
        "private key",
        r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s:,.()-]*?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s]*)",
    ),
    form("password in an address", r"(?i)[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s:@]+@"),
    form("password in a command", r"(?i)curl(?-u:\b)[^\n]{0,40}\s(?:-u|--user)\s+[^\s:]+:\S{4,}"),
    form("PIN", r"PIN(?: code)?\s*(?:is|:|=)?\s*\d{4,8}(?-u:\b)"),
    form(
        "recovery code",
        r"(?i)(?:recovery|backup|one-time) codes?\s*(?:is|are|:)\s*[a-z0-9]{3,}\d[a-z0-9-]*",
    ),
];
