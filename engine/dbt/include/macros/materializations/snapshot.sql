{% macro raydb__post_snapshot(staging_relation) %}
  {% call statement('drop_new_rows') %}
    drop table {{ staging_relation }}
  {% endcall %}
  {% do adapter.commit() %}
{% endmacro %}

{% macro raydb__snapshot_string_as_time(timestamp) %}
  {{ return("timestamp '" ~ timestamp ~ "'") }}
{% endmacro %}

{% macro raydb__snapshot_get_time() %}
  {{ return('cast(' ~ current_timestamp() ~ ' as timestamp)') }}
{% endmacro %}
