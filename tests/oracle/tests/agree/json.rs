//! JSON as it is written, not as it is meant: tokens, repeated members, order.

/// A piece of JSON text.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    /// A literal or number, as spelled.
    Token(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn null() -> Self {
        Json::Token("null".to_owned())
    }

    pub(crate) fn object(name: &str, value: Json) -> Self {
        Json::Object(vec![(name.to_owned(), value)])
    }

    pub(crate) fn write(&self) -> String {
        match self {
            Json::Token(token) => token.clone(),
            Json::Text(text) => serde_json::to_string(text).unwrap(),
            Json::Array(items) => {
                let items: Vec<String> = items.iter().map(Json::write).collect();
                format!("[{}]", items.join(", "))
            }
            Json::Object(members) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(name, value)| {
                        format!("{}:{}", serde_json::to_string(name).unwrap(), value.write())
                    })
                    .collect();
                format!("{{{}}}", members.join(" ,"))
            }
        }
    }

    /// Whether a member of some object is given more than once: a DOM keeps the last.
    pub(crate) fn repeats(&self) -> bool {
        match self {
            Json::Token(_) | Json::Text(_) => false,
            Json::Array(items) => items.iter().any(Json::repeats),
            Json::Object(members) => {
                let twice = members.iter().enumerate().any(|(at, (name, _))| {
                    members.iter().skip(at + 1).any(|(other, _)| other == name)
                });
                twice || members.iter().any(|(_, value)| value.repeats())
            }
        }
    }

    /// Number of pieces, this one included.
    pub(crate) fn count(&self) -> usize {
        match self {
            Json::Token(_) | Json::Text(_) => 1,
            Json::Array(items) => 1 + items.iter().map(Json::count).sum::<usize>(),
            Json::Object(members) => 1 + members.iter().map(|(_, v)| v.count()).sum::<usize>(),
        }
    }

    /// Piece number `at`, from 0 for the whole.
    pub(crate) fn piece(&mut self, at: usize) -> Option<&mut Json> {
        fn find<'j>(json: &'j mut Json, left: &mut usize) -> Option<&'j mut Json> {
            if *left == 0 {
                return Some(json);
            }
            *left -= 1;
            match json {
                Json::Token(_) | Json::Text(_) => None,
                Json::Array(items) => items.iter_mut().find_map(|item| find(item, left)),
                Json::Object(members) => members.iter_mut().find_map(|(_, v)| find(v, left)),
            }
        }
        find(self, &mut { at })
    }
}
