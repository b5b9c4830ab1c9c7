//! What the examples of the façade begin with: a host that allows one namespace, one
//! component in it, and a session.

async fn stand() -> Result<(bindery::Host, bindery::Session, bindery::CapabilityId), bindery::Refusal>
{
    use bindery::policy::{Document, SessionSpec, Who};

    let document = Document::parse(
        "bindery.toml",
        r#"
        [mode]
        default = "full_access"
        ceiling = "full_access"
        [stages]
        preset = "late_bound"
        [agents.tester]
        implementation_status = "active"
        [[policy.rule]]
        decision = "allow"
        why = "the examples call their own component"
        namespaces = ["acme"]
        "#,
    )?;
    let host = bindery::Host::builder().policy(document).build()?;
    let mut admission =
        bindery::Admission::by_operator("acme".parse().expect("a name"), "deep.wasm");
    admission.contract.approval = Some(bindery::ApprovalRequirement::NoApproval);
    let admitted = host.admit(component(), admission).await?;
    let spec = SessionSpec {
        who: Who {
            session: bindery::SessionId::from_random([1; 16]),
            run: None,
            principal: "local:me".parse().expect("a name"),
            rights: bindery::Rights::Operator,
            tenant: "local".parse().expect("a name"),
            agent: "tester".parse().expect("a name"),
            archetype: "default".parse().expect("a name"),
        },
        mode: None,
        allow: None,
        deny: Vec::new(),
        project: None,
        stages: None,
    };
    let session = host.session(spec).await?;
    let answer = admitted.into_iter().next().expect("it has one function").id;
    Ok((host, session, answer))
}

/// A component whose `answer` is 42.
fn component() -> Vec<u8> {
    let text = r#"(component
        (core module $m (func (export "answer") (result i32) (i32.const 42)))
        (core instance $i (instantiate $m))
        (func $answer (result u32) (canon lift (core func $i "answer")))
        (instance $out (export "answer" (func $answer)))
        (export "acme:deep/thought@1.0.0" (instance $out)))"#;
    wat::parse_str(text).expect("a component")
}
