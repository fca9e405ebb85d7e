{#- One INSERT for all rows: dbt's own has a parameter for each value in a text of each 10,000 rows. -#}
{% macro raydb__load_csv_rows(model, agate_table) %}
  {% set marks = ['?'] * (agate_table.column_names | length) %}
  {% set sql %}
    insert into {{ this.render() }} ({{ get_seed_column_quoted_csv(model, agate_table.column_names) }})
    values ({{ marks | join(', ') }})
  {% endset %}
  {% do adapter.add_query(sql, bindings=adapter.rows_of(agate_table), abridge_sql_log=True) %}
  {{ return(sql) }}
{% endmacro %}
