-- A shadow of a table whose spec has no columns; indexes that it need not have yet are looked up, and dropped again.
--
-- action: create_like
-- target: public.orders__v2
-- like: public.orders
-- fillfactor: 85
-- shape:
--   columns:
--     order_id: bigint not null

CREATE TABLE "public"."orders__v2" (
  LIKE "public"."orders" INCLUDING ALL
)
WITH (
  fillfactor=85
);

-- binds: schema = public, name = orders__v2
SELECT n.nspname, i.relname
FROM pg_catalog.pg_index x
JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND NOT x.indisunique
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = x.indexrelid)
ORDER BY 2;
