//! Asks an OpenAI-compatible server which model it serves: vLLM, SGLang, llama.cpp and Ollama each report it at an
//! endpoint of their own.

use std::time::Duration;

use serde_json::{Value, json};

use super::CompatConfig;
use crate::http::Transport;
use crate::identity::{IDENTITY_TIMEOUT, ModelIdentity, non_empty_text};

/// Timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);

/// Returns the identity that the server reports for the model.
pub(super) async fn ask(config: &CompatConfig, transport: &Transport) -> ModelIdentity {
    let asker = IdentityClient { config, transport };
    let told = tokio::time::timeout(IDENTITY_TIMEOUT, asker.identity()).await.unwrap_or_default();
    told.redacted(transport)
}

struct IdentityClient<'a> {
    config: &'a CompatConfig,
    transport: &'a Transport,
}

impl IdentityClient<'_> {
    async fn identity(&self) -> ModelIdentity {
        let base = &self.config.endpoint.base_url;
        let model = self.config.model.as_str();
        let list = self.get(&format!("{base}/models")).await;
        let others = others(&list, model);
        let Some(entry) = entry(&list, model) else {
            return ModelIdentity { served: others, ..ModelIdentity::default() };
        };
        // vLLM answers to no other name than its own.
        let served = if entry["owned_by"] == "vllm" { others } else { Vec::new() };
        let listed = ModelIdentity { served: served.clone(), ..listed(entry) };
        // The endpoints below are not part of the common API; they lie beside it.
        let Some(root) = base.strip_suffix("/v1") else { return listed };
        let own = match entry["owned_by"].as_str() {
            Some("vllm") => vllm(&self.get(&format!("{root}/version")).await),
            Some("sglang") => self.sglang(root).await,
            Some("llamacpp") => llama(&self.get(&format!("{root}/props")).await),
            Some("library") => self.ollama(root).await,
            // A custom owner (Ollama reports one for models made locally), or an unknown server.
            Some(_) | None => {
                let (ollama, sglang) = tokio::join!(self.ollama(root), self.sglang(root));
                ollama.or(sglang)
            }
        };
        ModelIdentity { served, ..own.or(listed) }
    }

    async fn sglang(&self, root: &str) -> ModelIdentity {
        let (model, server) = (format!("{root}/get_model_info"), format!("{root}/get_server_info"));
        let (model, server) = tokio::join!(self.get(&model), self.get(&server));
        sglang(&model, &server)
    }

    async fn ollama(&self, root: &str) -> ModelIdentity {
        let body = json!({ "model": self.config.model }).to_string().into_bytes();
        let (show, tags, version) =
            (format!("{root}/api/show"), format!("{root}/api/tags"), format!("{root}/api/version"));
        let (show, tags, version) = tokio::join!(self.post(&show, body), self.get(&tags), self.get(&version));
        ollama(&self.config.model, &show, &tags, &version)
    }

    async fn get(&self, url: &str) -> Value {
        let Ok(headers) = self.config.headers().await else { return Value::Null };
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, self.transport.get(url, &headers)).await;
        answer.ok().and_then(Result::ok).map(|answer| read(&answer.body)).unwrap_or_default()
    }

    async fn post(&self, url: &str, body: Vec<u8>) -> Value {
        let Ok(headers) = self.config.headers().await else { return Value::Null };
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, self.transport.post(url, &headers, body)).await;
        answer.ok().and_then(Result::ok).map(|answer| read(&answer.body)).unwrap_or_default()
    }
}

fn read(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

/// Finds the model's entry in the server's list.
fn entry<'a>(list: &'a Value, model: &str) -> Option<&'a Value> {
    let entries = list["data"].as_array()?;
    let of_name = entries.iter().find(|entry| entry["id"] == model);
    // llama.cpp serves one model, whatever its name.
    of_name.or_else(|| entries.first().filter(|_| entries.len() == 1))
}

/// Returns the names in a list that lacks the model's; none where a gateway stands for names that it does not list.
fn others(list: &Value, model: &str) -> Vec<String> {
    let names =
        list["data"].as_array().into_iter().flatten().filter_map(|entry| non_empty_text(&entry["id"]));
    let names: Vec<String> = names.collect();
    match names.iter().any(|name| name == model || name.contains('*')) {
        true => Vec::new(),
        false => names,
    }
}

/// Reads the identity from an entry of the list.
fn listed(entry: &Value) -> ModelIdentity {
    let id = non_empty_text(&entry["root"]).or_else(|| non_empty_text(&entry["id"]));
    ModelIdentity {
        // A model from the hub's cache lies in a folder named after its commit.
        revision: id.as_deref().and_then(|id| snapshot(id)).map(str::to_owned),
        id,
        quantization: None,
        context_tokens: entry["max_model_len"].as_u64().or_else(|| entry["context_length"].as_u64()),
        server: non_empty_text(&entry["owned_by"]),
        // llama.cpp (`get_model_info` of its server-context.cpp).
        parameters: entry["meta"]["n_params"].as_u64(),
        ..ModelIdentity::default()
    }
}

fn snapshot(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once("/snapshots/")?;
    rest.split('/').next().filter(|name| !name.is_empty())
}

fn vllm(version: &Value) -> ModelIdentity {
    let server = non_empty_text(&version["version"]).map(|version| format!("vllm {version}"));
    ModelIdentity { server, ..ModelIdentity::default() }
}

fn sglang(model: &Value, server: &Value) -> ModelIdentity {
    let id = non_empty_text(&model["model_path"]);
    let version = non_empty_text(&server["version"]).map(|version| format!("sglang {version}"));
    ModelIdentity {
        revision: non_empty_text(&server["revision"])
            .or_else(|| id.as_deref().and_then(snapshot).map(str::to_owned)),
        id,
        quantization: non_empty_text(&server["quantization"]),
        context_tokens: server["context_length"].as_u64(),
        server: version,
        // Without a parser, calls stay in the model's words.
        reads_calls: server.get("tool_call_parser").map(|parser| !parser.is_null()),
        vision: model["has_image_understanding"].as_bool(),
        ..ModelIdentity::default()
    }
}

fn llama(props: &Value) -> ModelIdentity {
    let id = non_empty_text(&props["model_path"]);
    ModelIdentity {
        quantization: non_empty_text(&props["model_ftype"])
            .or_else(|| id.as_deref().and_then(quantization).map(str::to_owned)),
        id,
        revision: None,
        context_tokens: props["default_generation_settings"]["n_ctx"].as_u64(),
        server: non_empty_text(&props["build_info"]).map(|build| format!("llamacpp {build}")),
        tools: props["chat_template_caps"]["supports_tools"].as_bool(),
        vision: props["modalities"]["vision"].as_bool(),
        ..ModelIdentity::default()
    }
}

/// Reads the quantization from the name of a weights file, such as `model-Q4_K_M.gguf`.
fn quantization(path: &str) -> Option<&str> {
    let name = path.rsplit(['/', '\\']).next()?.strip_suffix(".gguf")?;
    let is_one = |part: &&str| {
        let upper = part.to_ascii_uppercase();
        let counted = |head: &str| {
            upper.strip_prefix(head).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        matches!(upper.as_str(), "F16" | "BF16" | "F32" | "MXFP4") || counted("Q") || counted("IQ")
    };
    name.split(['-', '.']).rev().find(is_one)
}

fn ollama(model: &str, show: &Value, tags: &Value, version: &Value) -> ModelIdentity {
    let tagged = tags["models"].as_array().into_iter().flatten();
    let mut own = tagged.filter(|entry| {
        let name = entry["name"].as_str().unwrap_or_default();
        name == model || name.strip_suffix(":latest") == Some(model)
    });
    let revision = own.next().and_then(|entry| non_empty_text(&entry["digest"]));
    let version = non_empty_text(&version["version"]).map(|version| format!("ollama {version}"));
    ModelIdentity {
        id: None,
        revision,
        quantization: non_empty_text(&show["details"]["quantization_level"]),
        // The model's maximum context is ignored: it does not tell what the server grants.
        context_tokens: show["parameters"].as_str().and_then(window),
        server: version,
        parameters: show["model_info"]["general.parameter_count"].as_u64(),
        tools: capability(show, "tools"),
        vision: capability(show, "vision"),
        ..ModelIdentity::default()
    }
}

/// Reads one of the capabilities that Ollama lists.
fn capability(show: &Value, name: &str) -> Option<bool> {
    let listed = show["capabilities"].as_array()?;
    Some(listed.iter().any(|one| one == name))
}

/// Reads the context length from the model's own parameters.
fn window(parameters: &str) -> Option<u64> {
    let mut lines = parameters.lines().filter_map(|line| line.trim().strip_prefix("num_ctx"));
    lines.next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{entry, listed, llama, ollama, quantization, sglang, vllm};
    use crate::identity::ModelIdentity;

    fn identity(
        id: Option<&str>,
        revision: Option<&str>,
        quantization: Option<&str>,
        (context_tokens, server): (Option<u64>, Option<&str>),
    ) -> ModelIdentity {
        let own = |text: Option<&str>| text.map(str::to_owned);
        ModelIdentity {
            id: own(id),
            revision: own(revision),
            quantization: own(quantization),
            context_tokens,
            server: own(server),
            ..ModelIdentity::default()
        }
    }

    #[test]
    fn each_server_is_read_as_it_speaks() {
        let list = json!({ "object": "list", "data": [
            { "id": "other", "owned_by": "vllm" },
            { "id": "student", "object": "model", "owned_by": "vllm", "max_model_len": 32768,
              "root": "/hub/models--q--vl/snapshots/ab12cd/", "parent": null },
        ] });
        let found =
            vllm(&json!({ "version": "0.13.1" })).or(listed(entry(&list, "student").expect("is listed")));
        let root = Some("/hub/models--q--vl/snapshots/ab12cd/");
        assert_eq!(found, identity(root, Some("ab12cd"), None, (Some(32768), Some("vllm 0.13.1"))));

        let (model, server) = (
            json!({ "model_path": "q/vl", "is_generation": true }),
            json!({ "version": "0.5.4", "quantization": "fp8", "revision": "main", "context_length": null }),
        );
        let expected = identity(Some("q/vl"), Some("main"), Some("fp8"), (None, Some("sglang 0.5.4")));
        assert_eq!(sglang(&model, &server), expected);

        let props = json!({ "model_path": "/m/Qwen3-VL-8B-Instruct-Q4_K_M.gguf", "build_info": "b7100-1a",
            "default_generation_settings": { "n_ctx": 8192 } });
        let path = Some("/m/Qwen3-VL-8B-Instruct-Q4_K_M.gguf");
        assert_eq!(
            llama(&props),
            identity(path, None, Some("Q4_K_M"), (Some(8192), Some("llamacpp b7100-1a")))
        );

        let show = json!({ "details": { "quantization_level": "Q8_0" }, "parameters": "stop \"x\"\nnum_ctx    4096" });
        let tags = json!({ "models": [{ "name": "vl:latest", "digest": "9f" }] });
        let found = ollama("vl", &show, &tags, &json!({ "version": "0.13" }));
        assert_eq!(found, identity(None, Some("9f"), Some("Q8_0"), (Some(4096), Some("ollama 0.13"))));
    }

    #[test]
    fn capabilities_are_read_where_a_server_says_them() {
        let props = |tools: bool| json!({ "chat_template_caps": { "supports_tools": tools }, "modalities": { "vision": !tools } });
        assert_eq!((llama(&props(false)).tools, llama(&props(false)).vision), (Some(false), Some(true)));
        assert_eq!((llama(&props(true)).tools, llama(&json!({})).tools), (Some(true), None));
        let counted = json!({ "id": "m", "owned_by": "llamacpp", "meta": { "n_params": 1_777_088_000_u64 } });
        assert_eq!((listed(&counted).parameters, listed(&json!({})).parameters), (Some(1_777_088_000), None));
        let show = json!({ "capabilities": ["completion", "tools"], "model_info": { "general.parameter_count": 494_032_768 } });
        assert_eq!(ollama("m", &show, &Value::Null, &Value::Null).parameters, Some(494_032_768));
        let found = ollama("m", &show, &Value::Null, &Value::Null);
        assert_eq!((found.tools, found.vision), (Some(true), Some(false)));
        let parser = |parser: Value| sglang(&Value::Null, &json!({ "tool_call_parser": parser })).reads_calls;
        assert_eq!((parser(json!("qwen25")), parser(Value::Null)), (Some(true), Some(false)));
        assert_eq!(sglang(&json!({}), &json!({})).reads_calls, None);
    }

    #[test]
    fn what_is_not_said_is_unknown() {
        let nothing = Value::Null;
        let odd = json!({ "version": 7, "model_path": "", "quantization": {}, "data": "none" });
        for one in [&nothing, &odd] {
            assert!(entry(one, "m").is_none());
            for found in [vllm(one), llama(one), sglang(one, one), ollama("m", one, one, one)] {
                assert!(found.is_unknown(), "{found:?}");
            }
        }
        for (path, expected) in [
            ("/m/model-f16.gguf", Some("f16")),
            ("/m/model.IQ4_XS.gguf", Some("IQ4_XS")),
            ("/m/Qwen3-VL-8B.gguf", None),
            ("/m/model-Q4_K_M.safetensors", None),
        ] {
            assert_eq!(quantization(path), expected, "{path}");
        }
    }
}
