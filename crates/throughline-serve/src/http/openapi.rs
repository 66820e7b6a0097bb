//! The OpenAPI description, generated from the handlers.

use std::sync::Arc;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Components, Content, Info, License, OpenApi, OpenApiBuilder, Ref, ResponseBuilder,
};

/// Error statuses that any route may return.
const PROBLEM_STATUSES: &[(&str, &str)] = &[
    ("400", "Invalid request"),
    ("401", "Missing or invalid token"),
    ("403", "Not allowed, or sent from another origin"),
    ("404", "Not found"),
    ("413", "The request body is too large"),
    ("415", "The body is not JSON"),
    ("429", "Too many requests"),
    ("500", "Internal error"),
    ("503", "Timeout, or the store is not writable"),
    ("507", "The disk is full"),
];

/// Returns the description without routes.
pub fn base_document() -> OpenApi {
    let mut components = Components::new();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme("token", bearer);
    let mut info = Info::new("Throughline", env!("CARGO_PKG_VERSION"));
    info.description = Some(
        "Session memory for coding agents. On loopback every request needs the token in \
         `daemon.token`; the socket `daemon.sock` needs none."
            .to_owned(),
    );
    info.license = Some(License::new("Apache-2.0 OR MIT"));
    OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .security(Some([SecurityRequirement::new(
            "token",
            Vec::<String>::new(),
        )]))
        .build()
}

/// Returns the description as JSON, with the errors that every route may return.
pub fn document_json(mut description: OpenApi) -> String {
    register_problem(&mut description);
    for item in description.paths.paths.values_mut() {
        let operations = [
            &mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete,
        ];
        for operation in operations.into_iter().flatten() {
            for (status, what) in PROBLEM_STATUSES {
                let problem = Ref::from_schema_name("Problem");
                let response = ResponseBuilder::new()
                    .description(*what)
                    .content("application/problem+json", Content::new(Some(problem)))
                    .build();
                let responses = &mut operation.responses.responses;
                responses
                    .entry((*status).to_owned())
                    .or_insert_with(|| response.into());
            }
        }
    }
    description.to_json().unwrap_or_default()
}

fn register_problem(description: &mut OpenApi) {
    use utoipa::{PartialSchema, ToSchema};
    let components = description.components.get_or_insert_default();
    let name = super::Problem::name().into_owned();
    components.schemas.insert(name, super::Problem::schema());
}

pub async fn serve_document(description: Arc<String>) -> Response {
    let form = [(header::CONTENT_TYPE, "application/json")];
    (form, description.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_names_every_route_and_nothing_it_does_not_define() {
        let (_, description) = super::super::routes_and_description();
        let text = document_json(description);
        let described: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(described["openapi"], "3.1.0");
        let paths = described["paths"].as_object().unwrap();
        for route in [
            "/memory/record", "/memory/record/{id}", "/memory/search", "/memory/summarize",
            "/memory/pin", "/memory/export", "/events", "/sessions", "/sessions/{id}/timeline",
            "/compact", "/health",
        ] {
            assert!(paths.contains_key(route), "{route}");
        }
        let defined = described["components"]["schemas"].as_object().unwrap();
        for named in text.split("#/components/schemas/").skip(1) {
            let name = named.split('"').next().unwrap();
            assert!(defined.contains_key(name), "{name}");
        }
    }
}
