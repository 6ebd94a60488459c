"""The newest of each partition, kept current by the events themselves, so that few questions read all. Fixed text."""

from __future__ import annotations

HEADS = """
-- What is newest of each partition. Written by the events themselves, in their transaction: roles need no right to it.
CREATE TABLE airflow_idempotent.partition_heads (
    table_name      text NOT NULL,
    table_version   int NOT NULL,
    partition_key   text NOT NULL,
    partition_start timestamptz NOT NULL,
    partition_end   timestamptz NOT NULL,
    state           text NOT NULL,
    event_id        bigint NOT NULL,
    load_event_id   bigint,       -- what was published last
    tried_event     bigint,       -- by which a scheduled run first tried it
    since_event     bigint,       -- by which a scheduled run first said that partitions follow one another, since when
    since           timestamptz,
    follows         boolean NOT NULL,
    PRIMARY KEY (table_name, table_version, partition_key)
);
CREATE INDEX ON airflow_idempotent.partition_heads (load_event_id);

CREATE FUNCTION airflow_idempotent.head_of(e airflow_idempotent.events)
RETURNS airflow_idempotent.partition_heads LANGUAGE sql IMMUTABLE AS $$
    SELECT e.table_name, e.table_version, e.partition_key, e.partition_start, e.partition_end, e.state, e.event_id,
           CASE WHEN e.step = 'stage_merge' AND e.state = 'published' THEN e.event_id END,
           CASE WHEN e.step IN ('land', 'stage_merge') AND e.lane = 'scheduled' THEN e.event_id END,
           CASE WHEN e.step IN ('land', 'stage_merge') AND e.lane = 'scheduled' AND e.consecutive_since IS NOT NULL
                THEN e.event_id END,
           CASE WHEN e.step IN ('land', 'stage_merge') AND e.lane = 'scheduled' THEN e.consecutive_since END,
           e.step IN ('land', 'stage_merge') AND e.consecutive_since IS NOT NULL AND e.state = 'published'
$$;

CREATE FUNCTION airflow_idempotent.keep_head() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO airflow_idempotent.partition_heads AS h SELECT d.* FROM airflow_idempotent.head_of(NEW) AS d
    ON CONFLICT (table_name, table_version, partition_key) DO UPDATE SET
        partition_start = EXCLUDED.partition_start, partition_end = EXCLUDED.partition_end,
        state = EXCLUDED.state, event_id = EXCLUDED.event_id,
        load_event_id = coalesce(EXCLUDED.load_event_id, h.load_event_id),
        tried_event = coalesce(h.tried_event, EXCLUDED.tried_event),
        since = CASE WHEN h.since_event IS NULL THEN EXCLUDED.since ELSE h.since END,
        since_event = coalesce(h.since_event, EXCLUDED.since_event),
        follows = h.follows OR EXCLUDED.follows
    WHERE EXCLUDED.event_id > h.event_id;
    RETURN NULL;
END $$;
CREATE TRIGGER keep_head AFTER INSERT ON airflow_idempotent.events
    FOR EACH ROW WHEN (NEW.partition_key <> '*') EXECUTE FUNCTION airflow_idempotent.keep_head();

-- Events of an older ledger, in their order.
DO $$
DECLARE e airflow_idempotent.events;
BEGIN
    FOR e IN SELECT * FROM airflow_idempotent.events WHERE partition_key <> '*' ORDER BY event_id LOOP
        INSERT INTO airflow_idempotent.partition_heads AS h SELECT d.* FROM airflow_idempotent.head_of(e) AS d
        ON CONFLICT (table_name, table_version, partition_key) DO UPDATE SET
            partition_start = EXCLUDED.partition_start, partition_end = EXCLUDED.partition_end,
            state = EXCLUDED.state, event_id = EXCLUDED.event_id,
            load_event_id = coalesce(EXCLUDED.load_event_id, h.load_event_id),
            tried_event = coalesce(h.tried_event, EXCLUDED.tried_event);
    END LOOP;
END $$;

CREATE INDEX ON airflow_idempotent.events (table_name, table_version, event_id)
    WHERE step = 'stage_merge' AND state = 'published' AND lane = 'scheduled';
CREATE INDEX ON airflow_idempotent.events (event_id)
    WHERE late_rows + too_late_rows + future_rows + null_cursor_rows > 0;

CREATE OR REPLACE VIEW airflow_idempotent.partitions AS
    SELECT h.table_name, h.table_version, h.partition_key, h.partition_start, h.partition_end,
           h.state, newest.batch_id, newest.lane, newest.attempt, newest.message, newest.recorded_at,
           load.batch_id AS published_batch_id, load.staged_rows, load.inserted, load.updated, load.deleted,
           load.unchanged, load.stale, load.duplicate, load.rejected, load.row_count, load.digest,
           load.spec_fingerprint, load.content_fingerprint, load.seconds
    FROM airflow_idempotent.partition_heads AS h
    JOIN airflow_idempotent.events AS newest ON newest.event_id = h.event_id
    LEFT JOIN airflow_idempotent.events AS load ON load.event_id = h.load_event_id;
"""
