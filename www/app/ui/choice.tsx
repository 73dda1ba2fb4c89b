/** One of several, by its position: names of a capture are shown, and stand in no attribute. */

interface Props {
  readonly label: string;
  /** The label is for screen readers alone. */
  readonly quiet?: boolean;
  readonly options: readonly string[];
  readonly at: number;
  readonly onChoose: (at: number) => void;
}

export function Choice({ label, quiet = false, options, at, onChoose }: Props) {
  return (
    <label>
      <span class={quiet ? 'offscreen' : 'soft'}>{label} </span>
      <select value={String(at)} onChange={(e) => onChoose(Number(e.currentTarget.value))}>
        {options.map((text, i) => (
          <option key={i} value={String(i)}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
