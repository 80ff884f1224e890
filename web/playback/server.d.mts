export function serve(options: { pages: string; media: string; port?: number }): Promise<{ url: string; close(): void }>;
