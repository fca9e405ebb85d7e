{% macro raydb__current_timestamp() %}
  {{ return('now()') }}
{% endmacro %}

{% macro raydb__current_timestamp_backcompat() %}
  {{ return('current_timestamp::timestamp') }}
{% endmacro %}

{% macro raydb__current_timestamp_in_utc_backcompat() %}
  {{ return("(current_timestamp at time zone 'utc')::timestamp") }}
{% endmacro %}

{% macro raydb__date(year, month, day) %}
  {{ return("date '" ~ modules.datetime.date(year, month, day).isoformat() ~ "'") }}
{% endmacro %}

{% macro raydb__dateadd(datepart, interval, from_date_or_timestamp) %}
  (cast({{ from_date_or_timestamp }} as timestamp) + ({{ interval }}) * interval '1' {{ datepart }})
{% endmacro %}

{#- Weeks begin on Mondays. -#}
{% macro raydb__datediff(first_date, second_date, datepart) %}
  {%- set first = 'cast(' ~ first_date ~ ' as timestamp)' -%}
  {%- set second = 'cast(' ~ second_date ~ ' as timestamp)' -%}
  {%- if datepart == 'week' -%}
    (date_diff('day', date_trunc('week', {{ first }}), date_trunc('week', {{ second }})) // 7)
  {%- else -%}
    date_diff('{{ datepart }}', {{ first }}, {{ second }})
  {%- endif -%}
{% endmacro %}

{% macro raydb__listagg(measure, delimiter_text, order_by_clause, limit_num) %}
  {%- if limit_num -%}
    array_to_string((array_agg({{ measure }} {{ order_by_clause or '' }}))[1:{{ limit_num }}], {{ delimiter_text }})
  {%- else -%}
    string_agg({{ measure }}, {{ delimiter_text }} {{ order_by_clause or '' }})
  {%- endif -%}
{% endmacro %}

{% macro raydb__safe_cast(field, type) %}
  try_cast({{ field }} as {{ type }})
{% endmacro %}

{% macro raydb__split_part(string_text, delimiter_text, part_number) %}
  split_part({{ string_text }}, {{ delimiter_text }}, {{ part_number }})
{% endmacro %}

{% macro raydb__type_float() %}
  {{ return('double') }}
{% endmacro %}
