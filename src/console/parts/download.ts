/** Downloads a text or picture as a file. */
export function download(name: string, content: string | Blob, type = 'text/plain'): void {
  const blob = typeof content === 'string' ? new Blob([content], { type }) : content;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';
const DRAWN = [
  'fill',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'opacity',
  'font-family',
  'font-size',
] as const;

/** Returns a chart of the page as an SVG file. The computed styles are written into the elements. */
export function svgText(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const parts = drawing.querySelectorAll<SVGElement>('*');
  copy.querySelectorAll<SVGElement>('*').forEach((part, index) => {
    const style = getComputedStyle(parts[index]);
    for (const name of DRAWN) part.setAttribute(name, style.getPropertyValue(name));
    part.removeAttribute('class');
  });
  const { width, height } = drawing.getBoundingClientRect();
  copy.setAttribute('xmlns', SVG_NAMESPACE);
  copy.setAttribute('width', String(Math.round(width)));
  copy.setAttribute('height', String(Math.round(height)));
  return new XMLSerializer().serializeToString(copy);
}

/** Renders a chart as PNG with two pixels in each CSS pixel. Errors  rejects if the browser cannot decode the SVG */
export async function svgPicture(drawing: SVGSVGElement): Promise<Blob> {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(drawing))}`;
  await picture.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [picture.width * 2, picture.height * 2];
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob as Blob)));
}
