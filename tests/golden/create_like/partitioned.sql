-- Cut as the live one is; its children are made as they are needed.
--
-- action: create_like
-- target: public.orders__v2
-- like: public.orders
-- partition_column: day
-- shape:
--   columns:
--     day: date not null

CREATE TABLE "public"."orders__v2" (
  LIKE "public"."orders" INCLUDING ALL
)
PARTITION BY RANGE("day");

-- binds: schema = public, name = orders__v2
SELECT n.nspname, i.relname
FROM pg_catalog.pg_index x
JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND NOT x.indisunique
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = x.indexrelid)
ORDER BY 2;
