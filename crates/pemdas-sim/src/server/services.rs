//! Addresses of Services, and what other kinds get when they are created.

use serde_json::{Map, Value, json};

use super::{Call, Server};
use crate::api::Failure;

impl Server {
    pub(crate) fn is_service(&self, call: &Call<'_>) -> bool {
        call.resource.is("", "services")
    }

    /// Gives a new object what only the server can give.
    ///
    /// # Errors
    /// If there is nothing left to give.
    pub(crate) fn allocate(&mut self, call: &Call<'_>, object: &mut Value) -> Result<(), Failure> {
        if self.is_service(call) {
            self.give_address(object);
        }
        if call.resource.is("batch", "jobs") {
            // Labels that the Job has from its template are one map with the template's in the real server.
            let given = call.body().unwrap_or_default();
            let own = given.pointer("/metadata/labels").and_then(Value::as_object);
            Self::give_selector(object, own.is_none_or(Map::is_empty));
        }
        if call.resource.is("", "pods") && object.pointer("/spec/serviceAccountName").is_none() {
            object["spec"]["serviceAccountName"] = json!("default");
            object["spec"]["serviceAccount"] = json!("default");
        }
        Ok(())
    }

    fn give_address(&mut self, object: &mut Value) {
        let kind = object.pointer("/spec/type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if kind == "ExternalName" {
            return;
        }
        let given = object.pointer("/spec/clusterIP").and_then(Value::as_str).unwrap_or_default().to_owned();
        let address = if given.is_empty() {
            let number = self.seed.below(65_000) + 256;
            format!("10.96.{}.{}", number >> 8 & 255, number & 255)
        } else {
            given
        };
        object["spec"]["clusterIP"] = json!(address);
        object["spec"]["clusterIPs"] = json!([address]);
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
            // Without a selector nobody knows of which family the endpoints will be.
            let any = address == "None" && !spec.contains_key("selector");
            let (families, policy) = if any {
                (json!(["IPv4", "IPv6"]), "RequireDualStack")
            } else {
                (json!(["IPv4"]), "SingleStack")
            };
            spec.entry("ipFamilies").or_insert(families);
            spec.entry("ipFamilyPolicy").or_insert(json!(policy));
        }
        if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
            for port in object.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().flatten()
            {
                if port.get("nodePort").is_none() {
                    port["nodePort"] = json!(30_000 + self.seed.below(2_768));
                }
            }
        }
    }

    /// A change that does not speak of a Service's addresses leaves them.
    pub(crate) fn keep_addresses(object: &mut Value, old: &Value) {
        if object.pointer("/spec/type") != old.pointer("/spec/type") {
            return;
        }
        let given = object.pointer("/spec/clusterIP").cloned().filter(|it| it != "" && !it.is_null());
        if let Some(address) = given.filter(|it| Some(it) != old.pointer("/spec/clusterIP")) {
            object["spec"]["clusterIPs"] = json!([address]);
        }
        let missing = |object: &Value, name: &str| {
            let value = object.pointer(&format!("/spec/{name}"));
            value.is_none_or(|it| it.is_null() || it == "" || it == &json!([]))
        };
        for name in ["clusterIP", "clusterIPs", "ipFamilyPolicy"] {
            if let Some(value) = old.pointer(&format!("/spec/{name}")).filter(|_| missing(object, name)) {
                object["spec"][name] = value.clone();
            }
        }
        // The families are not kept but found again, where they can be.
        if !missing(object, "ipFamilies") || missing(object, "ipFamilyPolicy") {
            return;
        }
        let single = object.pointer("/spec/ipFamilyPolicy") == Some(&json!("SingleStack"));
        let any = object.pointer("/spec/clusterIP") == Some(&json!("None")) && missing(object, "selector");
        match (single, any) {
            (true, _) => object["spec"]["ipFamilies"] = json!(["IPv4"]),
            (false, true) => object["spec"]["ipFamilies"] = json!(["IPv4", "IPv6"]),
            (false, false) => {}
        }
    }

    /// A Job finds its pods by its own uid.
    fn give_selector(object: &mut Value, shared: bool) {
        if object.pointer("/spec/manualSelector") == Some(&json!(true)) {
            return;
        }
        let uid = object.pointer("/metadata/uid").cloned().unwrap_or_default();
        let name = object.pointer("/metadata/name").cloned().unwrap_or_default();
        object["spec"]["selector"] = json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": uid } });
        for (key, value) in [
            ("batch.kubernetes.io/controller-uid", &uid),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("job-name", &name),
        ] {
            object["spec"]["template"]["metadata"]["labels"][key] = value.clone();
            if shared && object.pointer("/metadata/labels").is_some() {
                object["metadata"]["labels"][key] = value.clone();
            }
        }
    }
}
