"""What is left out of a style sheet is only what no page could show."""

import pytest
from used_styles import (
    classes_of,
    named,
    variables_of,
    without_unread_variables,
    without_unused_rules,
    words_of,
)

USED = {"btn", "card"}


@pytest.mark.parametrize(
    ("styles", "kept"),
    [
        ("body{margin:0}", "body{margin:0}"),
        (".btn{color:red}.modal{color:blue}", ".btn{color:red}"),
        (".btn,.modal{color:red}", ".btn{color:red}"),
        (".modal .btn{color:red}", ""),
        (".btn:not(.modal){color:red}", ".btn:not(.modal){color:red}"),
        (".btn:is(.modal,.open:not(.a)),.modal:is(.btn){a:b}", ".btn:is(.modal,.open:not(.a)){a:b}"),
        ("@media print{.modal{a:b}}", ""),
        ("@media print{.modal{a:b}.card{a:b}}", "@media print{.card{a:b}}"),
        ("@keyframes modal{from{a:b}to{a:b}}", "@keyframes modal{from{a:b}to{a:b}}"),
        ('@charset "UTF-8";/*! who{made}it */.btn{a:b}', '@charset "UTF-8";/*! who{made}it */.btn{a:b}'),
        ('.btn{content:"}.x{"}.modal{a:b}', '.btn{content:"}.x{"}'),
        (".btn{background:url(data:x;y,{z})}.modal{a:b}", ".btn{background:url(data:x;y,{z})}"),
        (r".w-1\/2{a:b}.btn{a:b}", ".btn{a:b}"),
    ],
)
def test_a_rule_that_needs_a_class_of_no_page_is_left_out(styles: str, kept: str) -> None:
    assert without_unused_rules(styles, USED) == kept


def test_a_variable_that_nothing_reads_is_left_out_with_those_that_only_it_read() -> None:
    styles = ':root{--a:"x;y";--b:var(--a);--c:1;--d:url(data:x;y)}.btn{color:var(--c, red);--e:2}'
    assert without_unread_variables(styles, {"--d"}) == ":root{--c:1;--d:url(data:x;y)}.btn{color:var(--c, red);}"
    assert variables_of("color: var(--a); --b: 1") == {"--a", "--b"}


def test_a_class_that_is_put_together_counts_with_all_that_it_may_become() -> None:
    words = words_of('<p class="alert alert-{{ tone }} {% if bad %}is-bad{% endif %}">`chart-${kind}` 2026-%m-%d')
    classes = classes_of(".alert,.alert-info,.is-bad{a:b}@media print{.chart-sm{a:b}.m-1,.d-none{a:b}}")
    assert classes == {"alert", "alert-info", "is-bad", "chart-sm", "m-1", "d-none"}
    assert named(classes, words) == {"alert", "alert-info", "is-bad", "chart-sm"}
