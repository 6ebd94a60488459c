-- Twenty checks of one day, as an expert would write them for this one table: one query.
SET work_mem = '256MB';
SET jit = off;
SELECT count(*) AS rows,
       count(*) FILTER (WHERE order_id IS NULL) AS no_order_id,
       count(*) FILTER (WHERE customer_id IS NULL) AS no_customer_id,
       count(*) FILTER (WHERE status IS NULL) AS no_status,
       count(*) FILTER (WHERE amount IS NULL) AS no_amount,
       count(*) FILTER (WHERE updated_at IS NULL) AS no_updated_at,
       count(*) FILTER (WHERE note IS NULL) AS no_note,
       count(*) FILTER (WHERE rate IS NULL) AS no_rate,
       count(*) FILTER (WHERE status NOT IN ('open', 'paid', 'sent', 'lost')) AS other_status,
       count(*) FILTER (WHERE amount < 0 OR amount > 100000) AS amount_outside,
       count(*) FILTER (WHERE rate < 0 OR rate > 1) AS rate_outside,
       count(*) FILTER (WHERE customer_id < 0) AS customer_outside,
       count(*) FILTER (WHERE amount IS NULL AND status = 'paid') AS paid_nothing,
       min(amount) AS min_amount, max(amount) AS max_amount, sum(amount) AS sum_amount, avg(rate) AS avg_rate,
       max(updated_at) FILTER (WHERE updated_at <= timestamptz '2025-05-02 00:05Z') AS newest,
       (SELECT count(*) FROM (SELECT FROM orders WHERE order_date >= '2025-05-01' AND order_date < '2025-05-02'
                              GROUP BY note HAVING count(*) > 1) AS repeated) AS notes_repeated,
       (SELECT count(*) FROM (SELECT FROM orders WHERE order_date >= '2025-05-01' AND order_date < '2025-05-02'
                              GROUP BY customer_id, updated_at HAVING count(*) > 1) AS repeated) AS orders_repeated
FROM orders WHERE order_date >= '2025-05-01' AND order_date < '2025-05-02';
