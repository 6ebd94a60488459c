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
    ADD COLUMN read_from_number  bigint,
    ADD COLUMN watermark_number  bigint,
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
    old_number    bigint,
    new_number    bigint,
    after_event   bigint NOT NULL,  -- events up to this one have had their say
    changed_by    text NOT NULL CHECK (changed_by <> ''),
    database_role text NOT NULL DEFAULT current_user,
    reason        text NOT NULL CHECK (reason <> ''),
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (kind <> 'set' OR num_nonnulls(new_watermark, new_number) = 1)
);
CREATE INDEX ON airflow_idempotent.watermark_changes (table_name, table_version, change_id DESC);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.watermark_changes
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();

CREATE VIEW airflow_idempotent.watermark_bases AS
    SELECT DISTINCT ON (table_name, table_version)
           table_name, table_version, cursor_name, CASE kind WHEN 'set' THEN new_watermark END AS value,
           CASE kind WHEN 'set' THEN new_number END AS number, after_event,
           CASE kind WHEN 'set' THEN changed_by END AS set_by, changed_at
    FROM airflow_idempotent.watermark_changes
    ORDER BY table_name, table_version, change_id DESC;

"""

DERIVED = """
-- Functions of one table, so that asking for one reads the events of one.
CREATE FUNCTION airflow_idempotent.gaps_of(wanted text, version int)
RETURNS TABLE (gap_start timestamptz, gap_end timestamptz, partition_key text, reason text)
LANGUAGE sql STABLE AS $$
    WITH known AS (
        SELECT h.* FROM airflow_idempotent.partition_heads h
        WHERE h.table_name = wanted AND h.table_version = version AND (h.tried_event IS NOT NULL
           OR h.load_event_id IS NOT NULL)
    ), begun AS (  -- what is said first counts: a start_date that is moved later on moves no watermark
        SELECT coalesce(
            (SELECT coalesce(b.value, (  -- a number says nothing of partitions: those known by then are forgiven
                SELECT max(e.partition_end) FROM airflow_idempotent.events e
                WHERE e.table_name = wanted AND e.table_version = version AND e.event_id <= b.after_event
                  AND b.number IS NOT NULL AND e.lane = 'scheduled' AND e.partition_key <> '*'))
             FROM airflow_idempotent.watermark_bases b
             WHERE b.table_name = wanted AND b.table_version = version),
            (SELECT k.since FROM known k WHERE k.since_event IS NOT NULL ORDER BY k.since_event LIMIT 1),
            (SELECT k.partition_start FROM known k WHERE k.tried_event IS NOT NULL ORDER BY k.tried_event LIMIT 1)
        ) AS first
    ), placed AS (
        SELECT known.*, coalesce(max(known.partition_end) OVER (
                   ORDER BY known.partition_start, known.partition_end
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), first) AS reached,
               bool_or(known.follows) OVER (  -- it, or a later one: a backfill of the days between hides no gap
                   ORDER BY known.partition_start, known.partition_end
                   ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS is_followed
        FROM known, begun
        WHERE known.partition_end > first
    )
    SELECT p.partition_start, p.partition_end, p.partition_key, 'not published'
    FROM placed p WHERE p.tried_event IS NOT NULL AND p.load_event_id IS NULL
    UNION ALL
    SELECT p.reached, p.partition_start, NULL, 'never run'
    FROM placed p WHERE p.is_followed AND p.partition_start > p.reached
$$;

CREATE FUNCTION airflow_idempotent.watermark_of(wanted text, version int)
RETURNS TABLE (watermark text, loaded_until timestamptz, recorded_at timestamptz, cursor_name text,
               cursor_watermark timestamptz, cursor_number bigint, set_by text, gap_start timestamptz)
LANGUAGE sql STABLE AS $$
    WITH gap AS (
        SELECT min(g.gap_start) AS gap_start FROM airflow_idempotent.gaps_of(wanted, version) g
    ), base AS (
        SELECT max(b.value) AS value, max(b.number) AS number, max(b.cursor_name) AS cursor_name,
               max(b.after_event) AS after_event, max(b.set_by) AS set_by, max(b.changed_at) AS changed_at
        FROM airflow_idempotent.watermark_bases b WHERE b.table_name = wanted AND b.table_version = version
    ), published AS (
        SELECT e.event_id, e.partition_end, e.recorded_at, e.cursor_name, e.read_from, e.watermark,
               e.read_from_number, e.watermark_number, e.max_version,
               first_value(e.cursor_name) OVER (ORDER BY e.cursor_name IS NULL, e.event_id DESC) AS newest_cursor
        FROM airflow_idempotent.events e, gap, base
        WHERE e.table_name = wanted AND e.table_version = version
          AND e.step = 'stage_merge' AND e.state = 'published' AND e.lane = 'scheduled'
          AND e.event_id > coalesce(base.after_event, 0)
          AND e.partition_start < coalesce(gap.gap_start, 'infinity')
    ), chained AS (
        SELECT p.*, max(p.watermark) OVER before AS reach, max(p.watermark_number) OVER before AS reach_number
        FROM published p WHERE p.newest_cursor IS NULL OR p.cursor_name = p.newest_cursor
        WINDOW before AS (ORDER BY p.read_from, p.read_from_number, p.event_id
                          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    ), joined AS (
        SELECT c.*, sum(CASE WHEN c.read_from > greatest(c.reach, CASE base.cursor_name WHEN c.newest_cursor
                                                                  THEN base.value END)
                               OR c.read_from_number > greatest(c.reach_number, CASE base.cursor_name
                                                                WHEN c.newest_cursor THEN base.number END)
                             THEN 1 ELSE 0 END) OVER (ORDER BY c.read_from, c.read_from_number, c.event_id) AS broken
        FROM chained c, base
    ), capped AS (
        SELECT j.*, CASE WHEN j.max_version ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9:.]{8,15}([+-][0-9:]{2,8})?)?$'
                         THEN least(j.max_version COLLATE "C",  -- as text: what only looks like a time cannot be cast
                                    to_char(j.partition_end AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || '+00')
                         ELSE j.max_version END AS version_text
        FROM joined j WHERE j.broken = 0
        OFFSET 0  -- or each use of the text would compute it again
    ), counted AS (
        SELECT count(*) AS events, max(c.newest_cursor) AS cursor_name, max(c.watermark) AS watermark,
               max(c.watermark_number) AS number,
               (array_agg(c.version_text ORDER BY
                    CASE WHEN c.version_text ~ '^-?[0-9]+([.][0-9]+)?$' THEN c.version_text::numeric END
                    DESC NULLS LAST, c.version_text DESC))[1] AS version_text,
               max(c.partition_end) AS loaded_until, max(c.recorded_at) AS recorded_at
        FROM capped c
    ), found AS (
        SELECT coalesce(c.cursor_name, base.cursor_name) AS cursor_name, c.version_text, c.loaded_until,
               greatest(c.watermark, CASE WHEN base.cursor_name = coalesce(c.cursor_name, base.cursor_name)
                                          THEN base.value END) AS cursor_watermark,
               greatest(c.number, CASE WHEN base.cursor_name = coalesce(c.cursor_name, base.cursor_name)
                                       THEN base.number END) AS cursor_number,
               greatest(c.recorded_at, base.changed_at) AS recorded_at, base.set_by
        FROM counted c, base
        WHERE c.events > 0 OR base.cursor_name IS NOT NULL
    )
    SELECT CASE WHEN f.cursor_name IS NULL THEN f.version_text
                WHEN f.cursor_number IS NOT NULL THEN f.cursor_number::text
                ELSE rtrim(rtrim(to_char(f.cursor_watermark AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), '0'), '.')
                     || '+00' END,
           f.loaded_until, f.recorded_at, f.cursor_name, f.cursor_watermark, f.cursor_number, f.set_by,
           gap.gap_start
    FROM found f, gap
$$;

CREATE VIEW airflow_idempotent.gaps AS
    SELECT t.table_name, t.table_version, g.gap_start, g.gap_end, g.partition_key, g.reason
    FROM (SELECT DISTINCT table_name, table_version FROM airflow_idempotent.partition_heads) AS t,
         airflow_idempotent.gaps_of(t.table_name, t.table_version) AS g;

CREATE OR REPLACE VIEW airflow_idempotent.watermarks AS
    SELECT t.table_name, t.table_version, w.watermark COLLATE "C" AS watermark, w.loaded_until, w.recorded_at,
           w.cursor_name, w.cursor_watermark, w.cursor_number, w.set_by, w.gap_start
    FROM (SELECT DISTINCT table_name, table_version FROM airflow_idempotent.partition_heads) AS t,
         airflow_idempotent.watermark_of(t.table_name, t.table_version) AS w;
"""
