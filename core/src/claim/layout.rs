//! Where a claim lies in a store.

use super::ClaimRef;

/// The name of a claim's object: `<prefix>/<tenant>/<claim id>`, or `<tenant>/<claim id>` where
/// the prefix is empty. The object is the raw body and nothing else; a signed ref and a plain one
/// name the same.
///
/// Tenant and claim id are letters, digits, `_` and `-`, so that nothing in a name can lead out of
/// its store, and a directory can have it for a path.
#[must_use]
pub fn object_key(prefix: &str, claim: &ClaimRef) -> String {
    let (tenant, id) = (claim.tenant(), claim.id());
    match prefix.trim_matches('/') {
        "" => format!("{tenant}/{id}"),
        prefix => format!("{prefix}/{tenant}/{id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_has_one_place() {
        let claim = ClaimRef::derive(Some("acme"), 1_764_500_000_332, "hook-1").unwrap();
        let id = "01KBA6AKJCTAHQPNNMYX0715PE";
        assert_eq!(object_key("", &claim), format!("acme/{id}"));
        assert_eq!(
            object_key("hooks/eu", &claim),
            format!("hooks/eu/acme/{id}")
        );
        assert_eq!(object_key("/hooks/", &claim), format!("hooks/acme/{id}"));
        let signature = "MAmydaNzNwA3sV38ggZG15ElUTajA8QtBkKevsaq1Ac";
        let signed = format!("urn:ankusa:claim:v2:acme:{id}:1790345000:{signature}");
        let signed = ClaimRef::parse(&signed).unwrap();
        assert_eq!(object_key("", &signed), format!("acme/{id}"));
    }
}
