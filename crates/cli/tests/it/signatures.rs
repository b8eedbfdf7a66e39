//! Reads the parameters of functions: which of them are tuples.
//!
//! A tuple parameter hides several arguments from the lint that limits their number, and its parts have no names where
//! the function is called.

use syn::visit::{self, Visit};

use crate::imports::is_test;

/// Lists the shipped functions of a file that take a tuple, as `function: parameter`.
pub(crate) fn tuple_parameters(file: &syn::File) -> Vec<String> {
    let mut reader = Reader(Vec::new());
    reader.visit_file(file);
    reader.0
}

struct Reader(Vec<String>);

impl<'ast> Visit<'ast> for Reader {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        for (number, argument) in (1..).zip(&signature.inputs) {
            let syn::FnArg::Typed(parameter) = argument else { continue };
            if is_tuple_pattern(&parameter.pat) || is_tuple_type(&parameter.ty) {
                let name = match parameter.pat.as_ref() {
                    syn::Pat::Ident(name) => name.ident.to_string(),
                    _ => format!("parameter {number}"),
                };
                self.0.push(format!("{}: {name}", signature.ident));
            }
        }
        visit::visit_signature(self, signature);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_test(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }
}

fn is_tuple_pattern(pattern: &syn::Pat) -> bool {
    match pattern {
        syn::Pat::Tuple(_) => true,
        syn::Pat::Reference(inner) => is_tuple_pattern(&inner.pat),
        syn::Pat::Paren(inner) => is_tuple_pattern(&inner.pat),
        _ => false,
    }
}

/// The unit type `()` has no parts to name.
fn is_tuple_type(kind: &syn::Type) -> bool {
    match kind {
        syn::Type::Tuple(tuple) => !tuple.elems.is_empty(),
        syn::Type::Reference(inner) => is_tuple_type(&inner.elem),
        syn::Type::Paren(inner) => is_tuple_type(&inner.elem),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::tuple_parameters;

    #[test]
    fn a_tuple_is_found_in_every_function_and_under_every_disguise() {
        let text = "
            fn plain((a, b): (u8, u8), c: u8) {}
            pub(crate) async fn by_reference(c: u8, &(a, b): &(u8, u8)) {}
            fn of_named_type((row, column): Place) {}
            fn unpacked_later(size: (u8, u8), place: &mut (u8, u8)) {}
            trait Port { fn offer(&self, pair: (u8, u8)); }
            impl House { fn enter(&self, (key, door): (Key, Door)) {} }
            mod room { fn inside((a, b): (u8, u8)) { fn nested((a, b): (u8, u8)) {} } }
        ";
        let found = tuple_parameters(&syn::parse_file(text).expect("parses"));
        assert_eq!(
            found,
            [
                "plain: parameter 1",
                "by_reference: parameter 2",
                "of_named_type: parameter 1",
                "unpacked_later: size",
                "unpacked_later: place",
                "offer: pair",
                "enter: parameter 2",
                "inside: parameter 1",
                "nested: parameter 1",
            ]
        );
    }

    #[test]
    fn named_types_callbacks_closures_and_tests_are_none() {
        let text = "
            fn named(place: Place, list: &[(u8, u8)], maybe: Option<(u8, u8)>, unit: ()) -> (u8, u8) { (1, 2) }
            fn callback(tell: &mut (dyn FnMut(&str) + Send), map: impl Fn((u8, u8)) -> u8) { let f = |(a, b): (u8, u8)| a; }
            fn of_fields(Place { row, column }: Place, Wrapped(inner): Wrapped) {}
            #[cfg(test)] fn only_for_tests((a, b): (u8, u8)) {}
            #[cfg(test)] impl House { fn only_for_tests(&self, (a, b): (u8, u8)) {} }
            #[cfg(test)] mod tests { fn inside((a, b): (u8, u8)) {} }
        ";
        assert_eq!(tuple_parameters(&syn::parse_file(text).expect("parses")), Vec::<String>::new());
    }
}
