{% macro raydb__get_binding_char() %}
  {{ return('?') }}
{% endmacro %}
