use super::text::string;

#[test]
fn the_text_of_a_file_is_read_as_it_was_written() {
    let texts = [
        "a = 1\n",
        "a = 1\n\n\nb = \"x: y # z\"\n  indented\n",
        "no end",
        "two ends\n\n",
        "",
        "\n",
        " begins with a space\n",
        "\ttab\n",
        "a\ttab\n",
        "trailing \nspace\n",
        "a\r\nb\r\n",
        "- --- ...\n---\n...\n",
        "% {{ .Release }} ${x} 'y'\n",
        "umlaut ü, emoji 🦀\n",
        "next\u{85}line\u{2028}\n",
        "bell\u{7}\n",
        "#\n",
    ];
    for text in texts {
        let document = format!("data:\n  \"main.ncl\": {}\n", string("main.ncl", text));
        let read: serde_json::Value = serde_saphyr::from_str(&document).expect(&document);
        assert_eq!(read["data"]["main.ncl"], text, "{document}");
    }
    assert!(string("", "a = 1\n").starts_with('|'), "what people wrote stays readable");
}
