"""How far each table is, derived from the ledger's events: what of the ledger speaks of watermarks. Fixed text.

Of the events that the scheduled lane published, those count that come before the first gap. A gap is a scheduled
partition that was tried and is not published, or, where each partition is to be run, one that nobody knows of. The
window of an incremental query counts only where it begins no higher than the others reach, or than was set.
"""

from __future__ import annotations

WATERMARKS = """
ALTER TABLE airflow_idempotent.events
    ADD COLUMN cursor_name       text,
    ADD COLUMN read_from         timestamptz,
    ADD COLUMN watermark         timestamptz,
    ADD COLUMN null_cursor_rows  bigint NOT NULL DEFAULT 0 CHECK (null_cursor_rows >= 0),
    ADD COLUMN future_rows       bigint NOT NULL DEFAULT 0 CHECK (future_rows >= 0),
    ADD COLUMN late_rows         bigint NOT NULL DEFAULT 0 CHECK (late_rows >= 0),
    ADD COLUMN too_late_rows     bigint NOT NULL DEFAULT 0 CHECK (too_late_rows >= 0),
    ADD COLUMN consecutive_since timestamptz;

CREATE TABLE airflow_idempotent.watermark_changes (
    change_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name    text NOT NULL,
    table_version int NOT NULL DEFAULT 1,
    kind          text NOT NULL CHECK (kind IN ('set', 'recompute')),
    cursor_name   text NOT NULL,
    old_watermark timestamptz,
    new_watermark timestamptz,
    after_event   bigint NOT NULL,  -- events up to this one have had their say
    changed_by    text NOT NULL CHECK (changed_by <> ''),
    database_role text NOT NULL DEFAULT current_user,
    reason        text NOT NULL CHECK (reason <> ''),
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (kind <> 'set' OR new_watermark IS NOT NULL)
);
CREATE INDEX ON airflow_idempotent.watermark_changes (table_name, table_version, change_id DESC);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.watermark_changes
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();

CREATE VIEW airflow_idempotent.watermark_bases AS
    SELECT DISTINCT ON (table_name, table_version)
           table_name, table_version, cursor_name, CASE kind WHEN 'set' THEN new_watermark END AS value, after_event,
           CASE kind WHEN 'set' THEN changed_by END AS set_by, changed_at
    FROM airflow_idempotent.watermark_changes
    ORDER BY table_name, table_version, change_id DESC;

CREATE VIEW airflow_idempotent.gaps AS
    WITH known AS (
        SELECT table_name, table_version, partition_key, partition_start, partition_end,
               bool_or(lane = 'scheduled') AS tried,
               bool_or(step = 'stage_merge' AND state = 'published') AS published,
               bool_or(consecutive_since IS NOT NULL AND state = 'published') AS follows
        FROM airflow_idempotent.events
        WHERE step IN ('land', 'stage_merge') AND partition_key <> '*'
        GROUP BY table_name, table_version, partition_key, partition_start, partition_end
    ), begun AS (  -- what is said first counts: a start_date that is moved later on moves no watermark
        SELECT DISTINCT ON (table_name, table_version) table_name, table_version,
               coalesce(b.value, consecutive_since, partition_start) AS first
        FROM airflow_idempotent.events
        LEFT JOIN airflow_idempotent.watermark_bases b USING (table_name, table_version)
        WHERE lane = 'scheduled' AND step IN ('land', 'stage_merge') AND partition_key <> '*'
        ORDER BY table_name, table_version, consecutive_since IS NULL, event_id
    ), placed AS (
        SELECT known.*, coalesce(max(partition_end) OVER earlier, first) AS reached
        FROM known JOIN begun USING (table_name, table_version)
        WHERE (tried OR published) AND partition_end > first
        WINDOW earlier AS (PARTITION BY table_name, table_version ORDER BY partition_start, partition_end
                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    )
    SELECT table_name, table_version, partition_start AS gap_start, partition_end AS gap_end, partition_key,
           'not published' AS reason
    FROM placed WHERE tried AND NOT published
    UNION ALL
    SELECT table_name, table_version, reached, partition_start, NULL, 'never run'
    FROM placed WHERE follows AND partition_start > reached;

CREATE OR REPLACE VIEW airflow_idempotent.watermarks AS
    WITH gap AS (
        SELECT table_name, table_version, min(gap_start) AS gap_start
        FROM airflow_idempotent.gaps GROUP BY table_name, table_version
    ), published AS (
        SELECT e.table_name, e.table_version, e.event_id, e.partition_end, e.recorded_at, e.cursor_name, e.read_from,
               e.watermark, e.max_version, b.value AS base, b.cursor_name AS base_cursor,
               first_value(e.cursor_name) OVER (
                   PARTITION BY e.table_name, e.table_version ORDER BY e.cursor_name IS NULL, e.event_id DESC
               ) AS newest_cursor
        FROM airflow_idempotent.events e
        LEFT JOIN gap g USING (table_name, table_version)
        LEFT JOIN airflow_idempotent.watermark_bases b USING (table_name, table_version)
        WHERE e.step = 'stage_merge' AND e.state = 'published' AND e.lane = 'scheduled'
          AND e.event_id > coalesce(b.after_event, 0)
          AND e.partition_start < coalesce(g.gap_start, 'infinity')
    ), chained AS (
        SELECT *, max(watermark) OVER before AS reach
        FROM published WHERE newest_cursor IS NULL OR cursor_name = newest_cursor
        WINDOW before AS (PARTITION BY table_name, table_version ORDER BY read_from, event_id
                          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    ), joined AS (
        SELECT *, sum(CASE WHEN read_from > greatest(reach, CASE base_cursor WHEN newest_cursor THEN base END)
                           THEN 1 ELSE 0 END) OVER breaks AS broken
        FROM chained
        WINDOW breaks AS (PARTITION BY table_name, table_version ORDER BY read_from, event_id)
    ), counted AS (
        SELECT table_name, table_version, max(newest_cursor) AS cursor_name, max(watermark) AS watermark,
               (array_agg(capped ORDER BY
                    CASE WHEN capped ~ '^-?[0-9]+([.][0-9]+)?$' THEN capped::numeric END DESC NULLS LAST,
                    capped DESC))[1] AS version,
               max(partition_end) AS loaded_until, max(recorded_at) AS recorded_at
        FROM (
            SELECT *, CASE WHEN max_version ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9:.]{8,15}([+-][0-9:]{2,8})?)?$'
                           THEN least(max_version COLLATE "C",  -- as text: what only looks like a time cannot be cast
                                      to_char(partition_end AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || '+00')
                           ELSE max_version END AS capped
            FROM joined WHERE broken = 0
        ) AS capped
        GROUP BY table_name, table_version
    ), found AS (
        SELECT table_name, table_version, coalesce(c.cursor_name, b.cursor_name) AS cursor_name, c.version,
               greatest(c.watermark, CASE WHEN b.cursor_name = coalesce(c.cursor_name, b.cursor_name) THEN b.value END)
                   AS cursor_watermark,
               c.loaded_until, greatest(c.recorded_at, b.changed_at) AS recorded_at, b.set_by
        FROM counted c FULL JOIN airflow_idempotent.watermark_bases b USING (table_name, table_version)
    )
    SELECT table_name, table_version,
           CASE WHEN cursor_name IS NULL THEN version
                ELSE rtrim(rtrim(to_char(cursor_watermark AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), '0'), '.')
                     || '+00' END AS watermark,
           loaded_until, recorded_at, cursor_name, cursor_watermark, set_by, gap_start
    FROM found LEFT JOIN gap USING (table_name, table_version);
"""
