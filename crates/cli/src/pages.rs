//! The pages of the error codes, as they are when the program is built.

use rustagents_core::Code;

macro_rules! pages {
    ($($code:literal)*) => {
        /// Each code with its page.
        const PAGES: &[(&str, &str)] = &[$((
            $code,
            include_str!(concat!("../../../docs/reference/errors/", $code, ".md")),
        ),)*];
    };
}

pages! {
    "RAG0001"
    "RAG0002"
    "RAG0003"
    "RAG0005"
    "RAG0101"
    "RAG0102"
    "RAG0103"
    "RAG0104"
    "RAG0105"
    "RAG0106"
    "RAG0107"
    "RAG0108"
    "RAG0109"
    "RAG0110"
    "RAG0111"
    "RAG0112"
    "RAG0113"
    "RAG0114"
    "RAG0115"
    "RAG0116"
    "RAG0201"
    "RAG0202"
    "RAG0203"
    "RAG0204"
    "RAG0205"
    "RAG0206"
    "RAG0301"
    "RAG0302"
    "RAG0303"
    "RAG0304"
    "RAG0305"
    "RAG0306"
    "RAG0307"
    "RAG0308"
    "RAG0309"
    "RAG0310"
    "RAG0311"
    "RAG0312"
    "RAG0313"
    "RAG0314"
    "RAG0315"
    "RAG0316"
    "RAG0317"
    "RAG0401"
    "RAG0402"
    "RAG0403"
    "RAG0404"
    "RAG0405"
    "RAG0406"
    "RAG0407"
    "RAG0408"
    "RAG0409"
    "RAG0410"
    "RAG0411"
    "RAG0412"
    "RAG0413"
    "RAG0414"
    "RAG0415"
    "RAG0416"
    "RAG0417"
    "RAG0418"
    "RAG0419"
    "RAG0501"
    "RAG0502"
    "RAG0503"
    "RAG0504"
    "RAG0505"
    "RAG0506"
    "RAG0507"
    "RAG0508"
    "RAG0509"
    "RAG0510"
    "RAG0601"
    "RAG0603"
    "RAG0604"
    "RAG0605"
    "RAG0701"
    "RAG0702"
    "RAG0801"
    "RAG0802"
    "RAG0803"
    "RAG0804"
    "RAG0805"
    "RAG0806"
    "RAG0807"
    "RAG0808"
    "RAG0809"
    "RAG0810"
    "RAG0811"
    "RAG0812"
    "RAG0813"
    "RAG0815"
    "RAG0816"
    "RAG0817"
    "RAG0818"
    "RAG0819"
    "RAG0901"
    "RAG0999"
}

/// The page of a code, in Markdown.
pub(crate) fn page(code: Code) -> Option<&'static str> {
    let mut pages = PAGES.iter();
    pages
        .find(|(name, _)| *name == code.as_str())
        .map(|(_, page)| *page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_code_once_with_its_own_page() {
        let codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let names: Vec<_> = PAGES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, codes);
        for code in Code::ALL {
            let title = format!("# {code}: {}\n", code.title());
            assert!(page(*code).is_some_and(|page| page.starts_with(&title)));
        }
    }
}
